"""What a draft is worth here: cost curves, bench, replay, verdict, and what machine this is.

Knows how to measure and to judge measurements. Does not know how they are shown.
"""
