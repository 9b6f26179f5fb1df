"""What is said beside the answer: errors, hints and notices, one line each, on stderr.

Knows words. Model text and paths are never parsed as markup.
"""

from localspec.errors import LocalspecError
from localspec.ui.tables import broken
from localspec.ui.terminal import Terminal, Tone
from localspec.ui.visible import visible


def show_error(terminal: Terminal, failure: LocalspecError) -> None:
    """Say what happened, and what to type next."""
    terminal.say(f"{terminal.paint('error:', Tone.BAD, Tone.BOLD)} {visible(failure.message)}")
    if failure.hint:
        terminal.say(f"{terminal.paint('hint:', Tone.BOLD)} {visible(failure.hint)}")


def show_note(terminal: Terminal, text: str) -> None:
    """Say something the user should know but need not act on."""
    text = visible(text)
    width = terminal.width() - 1 if terminal.shown else None
    for line in broken(text, width - 1) if width else [text]:
        terminal.say(terminal.paint(f" {line}", Tone.DIM))
