"""Pairs of models: the catalogue, the files, and whether two files fit each other and this machine.

Knows headers, downloads and memory. Does not decode.
"""
