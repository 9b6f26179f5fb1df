"""Every pixel: the streamed text, the readout, tables, bars and the prompt.

The only room that knows rich and prompt_toolkit. Does not know decoding or measuring.
"""
