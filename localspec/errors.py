"""The exception tree: what happened, what to type next, and the exit code.

Knows nothing else of the program. Only `cli.main` shows these; a `ValueError` is a bug of ours
and keeps its traceback.

LocalspecError            1
├─ OptionError            2
├─ PairRefused            4
├─ NotHere                5
├─ HubError               6
└─ NotIdentical           7
"""


class LocalspecError(Exception):
    """A failure to be shown in one line, with a hint on what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class OptionError(LocalspecError):
    """Options, settings or a models file that contradict themselves."""

    exit_code = 2


class PairRefused(LocalspecError):
    """The pair cannot run: vocabulary, memory, damaged file, or the engine cannot load it."""

    exit_code = 4


class NotHere(LocalspecError):
    """An unknown name, or a file that is not here and may not be asked for."""

    exit_code = 5


class HubError(LocalspecError):
    """The hub or the network failed: offline, gated, missing, stalled, or the disk is full."""

    exit_code = 6


class NotIdentical(LocalspecError):
    """A verified run differed from plain decoding."""

    exit_code = 7
