"""Exact, measured speculative decoding for GGUF models on one's own machine."""

__version__ = "0.1.0"
