"""A trace in the terminal: each round with its guesses, chances and draws.

Knows rounds as documents and a terminal. Does not know where they come from.
"""

import os
import sys
from collections.abc import Sequence

from localspec.core.counted import counted
from localspec.report.trace_documents import TraceDocument, TraceGuess, TraceRound, TraceWritten
from localspec.ui.cells import Neutraliser, clip, width_of
from localspec.ui.terminal import RESET, Terminal, Tone

if sys.platform != "win32":
    import termios
    import tty

WIDEST_WORD = 22
NUMBERS = ("p", "q", "chance", "draw")
MISSING = "–"
HOW_JUDGED = {
    "token": "a guess is accepted if its draw lies under its chance, min(1, p/q)",
    "block": "each chance is that of everything up to there; all up to the last place whose draw "
    "lies under its chance is accepted",
    "points": "a sure guess is accepted if the target, drawing from p, draws just that token",
    "coupled": "target and draft look at the same random numbers: no chances, no draws",
}


def show_round(terminal: Terminal, one: TraceRound, number: int) -> None:
    """Write one round to `out`."""
    for line, tones in round_lines(one, number, terminal):
        terminal.out.write(_coloured(line, tones, terminal) + "\n")
    terminal.out.flush()


def show_ways(terminal: Terminal, ways: Sequence[str]) -> None:
    """Say how guesses were judged, once for each way that occurred."""
    for way in dict.fromkeys(ways):
        if way in HOW_JUDGED:
            terminal.say(terminal.paint(f" {way}: {HOW_JUDGED[way]}", Tone.DIM))


Line = tuple[str, tuple[Tone, ...]]


def round_lines(one: TraceRound, number: int, terminal: Terminal) -> list[Line]:
    """Give a round as lines with their colours."""
    width = terminal.width()
    lines: list[Line] = [(clip(_headline(one, number), width), (Tone.BOLD,))]
    rows = [_guess_row(guess, one, place) for place, guess in enumerate(one.drafted)]
    written = one.replacement or one.bonus
    if written:
        rows.append(_written_row(written, one))
    if one.drafted:
        lines.append((_aligned(("", *NUMBERS, ""), width), (Tone.DIM,)))
    lines += [(_aligned(cells, width), (tone,)) for cells, tone in rows]
    return [*lines, ("", ())]


def _headline(one: TraceRound, number: int) -> str:
    if not one.drafted:
        kind = "plain, to know its cost" if one.baseline else "nobody guessed"
        return f"round {number} · {kind} · target {_ms(one.verify_s)}"
    said = f"{one.drafter} guessed {len(one.drafted)}, {one.accepted} accepted"
    times = f"draft {_ms(one.draft_s)}, target {_ms(one.verify_s)}"
    return f"round {number} · {said} · {times}"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


Row = tuple[tuple[str, ...], Tone]


def _guess_row(guess: TraceGuess, one: TraceRound, place: int) -> Row:
    numbers = (guess.p, guess.q, guess.chance, guess.draw)
    cells = (quoted(guess.text), *map(_number, numbers))
    if guess.accepted:
        return (*cells, "accepted"), Tone.DRAFT
    judged = guess.judged and (place < one.judged or one.way == "block")
    return (*cells, "rejected" if judged else "not looked at"), Tone.DIM


def _written_row(written: TraceWritten, one: TraceRound) -> Row:
    what = "target"
    if one.replacement:
        what = "replacement"
    elif one.drafted:
        what = "bonus"
    numbers = (written.p, None, written.chance, written.draw)
    return (quoted(written.text), *map(_number, numbers), what), Tone.TARGET


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"


def _aligned(cells: Sequence[str], width: int) -> str:
    """Align a word, four numbers and a remark; the remark goes first when room is short."""
    word, *numbers, remark = cells
    shown = clip(word, WIDEST_WORD)
    padded = shown + " " * (WIDEST_WORD - width_of(shown))
    line = "  " + padded + "".join(f"{number:>8}" for number in numbers) + f"  {remark}"
    return clip(line.rstrip(), width)


def quoted(text: str) -> str:
    """Give a token's text in quotes, with control characters and line ends made visible."""
    neutral = Neutraliser()
    shown = (neutral(text) + neutral.flush()).replace("\n", "↵").replace("\t", "⇥")
    return f"“{shown}”"


def _coloured(line: str, tones: Sequence[Tone], terminal: Terminal) -> str:
    if not (line and tones and terminal.out_ansi):
        return line
    return f"{terminal.sgr(*tones)}{line}{RESET}"


def show_summary(terminal: Terminal, document: TraceDocument) -> None:
    """Close a trace with its counters."""
    counts = document.counts
    said = [
        f"{counted(counts.emitted, 'token')} in {counted(counts.target_passes, 'target pass')}",
        f"accepted {counts.accepted} of {counts.judged} judged",
    ]
    if document.tokens_per_pass is not None:
        said.append(f"{document.tokens_per_pass:.2f} tokens per pass")
    terminal.say(terminal.paint(clip(" " + " · ".join(said), terminal.width() - 1), Tone.DIM))


def wait_for_key(terminal: Terminal) -> bool:
    """Wait for a key; False when it was q, Ctrl-C or the end of input."""
    hint = " any key: next round · q: stop"
    terminal.err.write(terminal.paint(hint, Tone.DIM))
    terminal.err.flush()
    key = _key()
    terminal.err.write("\r" + " " * len(hint) + "\r")
    terminal.err.flush()
    return key not in ("q", "Q", "\x03", "\x04", "")


def _key() -> str:
    """Read one key without waiting for Enter."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415  (that system alone has it)

        return msvcrt.getwch()
    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    try:
        tty.setcbreak(stream)
        return os.read(stream, 64).decode("utf-8", "replace")  # an arrow key is several bytes
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
