"""From the options of `bench` to what is to be done; all of it checked before a model is loaded.

Knows words, ranges and files. Does not measure.
"""

import re
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from localspec.cli.bench_options import BenchOptions
from localspec.cli.build import number, whole
from localspec.cli.files import writable
from localspec.core.theory import MAX_GAMMA
from localspec.errors import NotHere, OptionError
from localspec.measure.texts import KINDS, Texts, builtin, own_text, read_bytes, suite_file
from localspec.report.bench_compare import read_bench
from localspec.report.bench_documents import BenchDocument
from localspec.runtime.settings import AUTO, DRAFTERS, NONE

DEFAULT_RUNS = 3
DEFAULT_WARMUP = 1
DEFAULT_MAX_S = 600.0
BUILTIN = "builtin"
STDIN = "-"
MOST_RUNS = 1000
MOST_STREAMS = 64
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?")


@dataclass(frozen=True)
class Request:
    """A bench as asked for. `gammas` empty: chosen by replay. `drafters` empty: all at hand."""

    texts: tuple[Texts, ...]
    gammas: tuple[int, ...]
    drafters: tuple[str, ...]
    temperatures: tuple[float, ...]
    runs: int
    warmup: int
    max_s: float
    verify: bool
    raw: bool
    min_speedup: float | None
    old: BenchDocument | None
    streams: tuple[int, ...] = ()


def read_request(options: BenchOptions, *, temperature: float | None) -> Request:
    """Check everything that can be checked without a model.

    Raises: OptionError, NotHere.
    """
    check_exports(options)
    return Request(
        texts=_texts(options),
        gammas=_gammas(options.gammas),
        drafters=_drafters(options.drafters),
        temperatures=_temperatures(options.temps, temperature),
        runs=whole("--runs", options.runs, low=1, high=MOST_RUNS) or DEFAULT_RUNS,
        warmup=_warmup(options.warmup),
        max_s=duration(options.max_time),
        verify=options.verify is not False,
        raw=options.raw,
        min_speedup=number("--min-speedup", options.min_speedup, low=0, high=1000),
        old=read_bench(options.compare) if options.compare else None,
        streams=tuple(sorted({*_numbers("--streams", options.streams, high=MOST_STREAMS)})),
    )


def _warmup(given: int | None) -> int:
    value = whole("--warmup", given, low=0, high=MOST_RUNS)
    return DEFAULT_WARMUP if value is None else value


def _texts(options: BenchOptions) -> tuple[Texts, ...]:
    own = tuple(_own(path) for path in options.text or ())
    names = [texts.name for texts in own]
    if len(set(names)) < len(names):
        raise OptionError("--text names the same file twice", "each file is a row of its own")
    if options.suite is None:
        return own or builtin(KINDS)
    return (*_suite(options.suite), *own)


def _suite(word: str) -> tuple[Texts, ...]:
    if word == BUILTIN:
        return builtin(KINDS)
    if Path(word).is_file() or word.endswith(".toml"):
        return (suite_file(Path(word)),)
    return builtin(tuple(dict.fromkeys(name.strip() for name in word.split(",") if name.strip())))


def _own(path: Path) -> Texts:
    if str(path) == STDIN:
        return own_text(sys.stdin.read().encode("utf-8", "replace"), "stdin")
    return own_text(read_bytes(path), path.name)


def _gammas(word: str | None) -> tuple[int, ...]:
    return () if word in (None, AUTO) else tuple(_numbers("--gammas", word, high=4 * MAX_GAMMA))


def _numbers(flag: str, word: str | None, *, high: int) -> list[int]:
    """Read `1,2,4`.

    Raises: OptionError naming the part that is no number.
    """
    if word is None:
        return []
    found: list[int] = []
    for part in word.split(","):
        if not part.strip().isdecimal() or not part.isascii():
            raise OptionError(f"{flag}: {part.strip()!r} is no whole number", "like 1,2,4")
        found.append(whole(flag, int(part), low=1, high=high) or 1)
    return list(dict.fromkeys(found))


def _drafters(word: str | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in (word or "").split(",") if part.strip()))
    for name in (single for chain in names for single in chain.split("+")):
        if name not in DRAFTERS or name == NONE:
            raise OptionError(
                f"--drafters: unknown drafter '{name}'",
                f"some of: {', '.join(each for each in DRAFTERS if each != NONE)}",
            )
    return names


def _temperatures(word: str | None, temperature: float | None) -> tuple[float, ...]:
    if word is None:
        return (temperature or 0.0,)
    found = []
    for part in word.split(","):
        try:
            value = float(part)
        except ValueError:
            raise OptionError(f"--temps: {part.strip()!r} is no number", "like 0,0.7") from None
        found.append(number("--temps", value, low=0, high=100) or 0.0)
    return tuple(dict.fromkeys(found))


def duration(word: str | None) -> float:
    """Read `10m`, `90s`, `1h30m` or seconds.

    Raises: OptionError.
    """
    if word is None:
        return DEFAULT_MAX_S
    match = DURATION.fullmatch(word.strip())
    hours, minutes, seconds = (int(part or 0) for part in (match.groups() if match else ("",) * 3))
    total = 3600.0 * hours + 60.0 * minutes + seconds
    if total <= 0:
        raise OptionError(f"--max-time: {word!r} is no time", "like 10m, 90s or 1h30m")
    return total


def check_exports(options: BenchOptions) -> None:
    """See that every export can be written, before the first run.

    Raises: OptionError, NotHere.
    """
    for name in ("save", "csv", "md", "html"):
        writable(f"--{name}", getattr(options, name))
    if options.html is not None:
        missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
        if missing:
            raise NotHere(
                f"--html needs {' and '.join(missing)}", "type: pip install 'localspec[report]'"
            )
