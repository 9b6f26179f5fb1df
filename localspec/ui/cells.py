"""How wide text is on a terminal, and what of it may reach one.

Knows characters and columns. A terminal may draw emoji sequences wider or narrower than their
parts say: such text makes a position uncertain by a known number of columns, never wrong.
"""

from dataclasses import dataclass

from rich.cells import cell_len, get_character_cell_size

from localspec.ui.visible import visible

TAB = 8
_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"


def width_of(text: str) -> int:
    """Count the columns of a line of text."""
    return cell_len(text)


def clip(text: str, width: int) -> str:
    """Cut a line to at most `width` columns, with an ellipsis if something is lost."""
    if cell_len(text) <= width:
        return text
    kept, used = "", 0
    for char in text:
        used += get_character_cell_size(char)
        if used > width - 1:
            break
        kept += char
    return kept + "…" if width > 0 else ""


def fit_fields(*variants: list[str], width: int, joint: str = " · ") -> str:
    """Join the first variant that fits; if none does, the last one loses fields from the right."""
    for fields in variants:
        if cell_len(joint.join(fields)) <= width:
            return joint.join(fields)
    fields = variants[-1]
    while len(fields) > 1 and cell_len(joint.join(fields)) > width:
        fields = fields[:-1]
    return clip(joint.join(fields), width)


class Neutraliser:
    """Make control characters visible, so that a model cannot drive the terminal.

    New lines and tabs stay; CR LF becomes LF, also when it arrives in two parts.
    """

    def __init__(self) -> None:
        self._return = False

    def __call__(self, text: str) -> str:
        """Give text that is safe to write."""
        if self._return:
            text, self._return = "\r" + text, False
        if text.endswith("\r"):
            text, self._return = text[:-1], True
        return visible(text.replace("\r\n", "\n"))

    def flush(self) -> str:
        """Give what was held: a carriage return that no new line followed."""
        held, self._return = ("␍" if self._return else ""), False
        return held


@dataclass
class Column:
    """Where the cursor stands after text that the terminal wraps itself.

    `slack`: by how many columns that may be wrong on this line.
    """

    width: int
    at: int = 0
    slack: int = 0

    def feed(self, text: str) -> None:
        """Move over text."""
        for char in text:
            self._step(char)

    def fits(self, text: str) -> bool:
        """Say whether text surely stays in this row and leaves its last column free."""
        after = Column(self.width, self.at, self.slack)
        for char in text:
            before = after.at
            after._step(char)
            if char == "\n" or after.at < before or after.at + after.slack >= self.width:
                return False
        return True

    @property
    def certain(self) -> bool:
        """Say whether the cursor surely stands behind a character of its row, with room left."""
        return self.at + self.slack < self.width and (self.at > self.slack or self.slack == 0)

    def _step(self, char: str) -> None:
        if char == "\n":
            self.at = self.slack = 0
        elif char == "\t":
            self.at = min(self.at + TAB - self.at % TAB, self.width - 1)
            if self.slack or self.at == self.width - 1:  # terminals differ at the end of a row
                self.slack = self.width
        elif char in (_JOINER, _EMOJI_STYLE) or 0x1F1E6 <= ord(char) <= 0x1F3FF:
            self.slack += 2
            self._advance(get_character_cell_size(char))
        else:
            self._advance(get_character_cell_size(char))

    def _advance(self, cells: int) -> None:
        """Move right; what does not fit wraps, a wide character already one column before."""
        if self.at + cells <= self.width:
            self.at += cells
            return
        if self.at < self.width:  # some terminals wrap a wide character only when the row is full
            self.slack += cells
        self.at = cells
