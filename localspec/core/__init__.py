"""The maths and the loop: distributions, acceptance rules, theory, statistics, `generate`.

Knows numbers and token ids. Does not know llama.cpp, text, files or screens.
"""
