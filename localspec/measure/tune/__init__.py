"""Find the fastest arrangement of files here: layouts, drafters, gamma; predicted, then measured.

Knows recipes and predictions; the engine writes the files and `measure` does the measuring.
"""
