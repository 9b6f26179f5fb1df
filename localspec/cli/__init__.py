"""The command line: parse, build options, open, call, show.

The only door to typer. Does not know decoding, measuring or drawing.
"""
