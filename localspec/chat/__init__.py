"""A conversation: messages into prompt ids, token bytes into text, turns kept and taken back.

Knows text and turns. Does not know screens, nor which engine writes the tokens.
"""
