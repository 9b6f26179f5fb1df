"""What is said beside the answer: errors, hints and notices, one line each, on stderr.

Knows words. Model text and paths are never parsed as markup.
"""

from localspec.errors import LocalspecError
from localspec.ui.terminal import Terminal, Tone


def show_error(terminal: Terminal, failure: LocalspecError) -> None:
    """Say what happened, and what to type next."""
    terminal.say(f"{terminal.paint('error:', Tone.BAD, Tone.BOLD)} {failure.message}")
    if failure.hint:
        terminal.say(f"{terminal.paint('hint:', Tone.BOLD)} {failure.hint}")


def show_note(terminal: Terminal, text: str) -> None:
    """Say something the user should know but need not act on."""
    terminal.say(terminal.paint(f" {text}", Tone.DIM))
