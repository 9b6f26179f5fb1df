"""The settings file: TOML, one key an option, named like its flag.

Knows the file and how a value becomes an option's. Which keys there are is said by whoever asks.
"""

import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from localspec.errors import NotHere, OptionError

NAME = "config.toml"
KINDS = {
    "number": "a number",
    "integer": "a whole number",
    "boolean": "yes or no",
    "string": "a text",
    "path": "a path",
    "list": "a list",
    "tuple": "a list",
}


def default_path() -> Path:
    """Give the place of the settings file."""
    from localspec.runtime.folders import config_dir  # noqa: PLC0415  (platformdirs)

    return config_dir() / NAME


def read(path: Path | None, known: Collection[str]) -> Mapping[str, object]:
    """Read the named file, or the one in its ordinary place if there is any.

    Raises: NotHere for a named file that is not there, OptionError for what is no TOML and for a
    key that no option has.
    """
    if path is not None and not path.is_file():
        raise NotHere(f"no settings file {path}", "see --config, or leave it out")
    path = path or default_path()
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as failure:
        raise OptionError(f"{path} cannot be read: {failure}") from failure
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as failure:
        raise OptionError(f"{path} is not TOML: {failure}") from failure
    _check_keys(values, known, path)
    return values


def _check_keys(values: Mapping[str, object], known: Collection[str], path: Path) -> None:
    for key in values:
        if key not in known:
            raise OptionError(f"{path}: unknown setting '{key}'", nearest(key, known))


def nearest(word: str, known: Collection[str]) -> str:
    """Give a hint: the name that was probably meant, or all of them."""
    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"one of: {', '.join(known)}"


def convert(key: str, values: Mapping[str, object], annotation: Any) -> object:
    """Make a value of the file one of the option's type.

    Raises: OptionError.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError  # noqa: PLC0415  (slow)

    adapter: TypeAdapter[object] = TypeAdapter(
        annotation, config=ConfigDict(coerce_numbers_to_str=True)
    )
    try:
        made = adapter.validate_python(values[key])
    except ValidationError as failure:
        why = in_plain_words(failure.errors()[0]["msg"])
        raise OptionError(f"{NAME}: {key} {why}, not {values[key]!r}") from failure
    if isinstance(values[key], bool) and not isinstance(made, bool):  # pydantic makes 1.0 of true
        raise OptionError(f"{NAME}: {key} must be no yes or no, not {values[key]!r}")
    return made


def in_plain_words(complaint: str) -> str:
    """Say what a value must be, from pydantic's sentence about it."""
    for sign, word in KINDS.items():
        if complaint.startswith(f"Input should be a valid {sign}"):
            return f"must be {word}"
    return complaint[:1].lower() + complaint[1:]
