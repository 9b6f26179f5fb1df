"""One file a drafter, all behind the `Drafter` protocol of the core.

Knows sequences and histories. Does not know screens, or files on the hub.
"""
