"""A pair made ready: models loaded, caches made, drafters and policy put together.

Knows engine, drafters and pairs. Does not know conversations, measurements or screens.
"""
