"""Control characters made visible, so that no text drives a terminal. Imports nothing."""


def visible(text: str) -> str:
    """Give text whose control characters are drawn; new lines and tabs stay."""
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    code = ord(char)
    if char in "\n\t" or 0x20 <= code < 0x7F or code >= 0xA0:
        return char
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<{code:02x}>"
