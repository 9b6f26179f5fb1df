"""The process that renders chat templates: a template comes from a stranger's file.

Runs as a script of its own, never imported: a sandbox, a memory limit, and a parent that ends it
after a deadline. Knows Jinja and one JSON line in, one out. Does not know models.
"""

import contextlib
import datetime
import json
import signal
import sys
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MEMORY_BYTES = 512 * 2**20
_LONGEST_TEXT = 16 * 2**20
_LAST_RESORT_S = 60  # for a parent that died; a living one ends this process far earlier


class Refused(Exception):
    """The template itself says no, for instance to a system message."""


class _Generation(Extension):
    """Accept `{% generation %}`, with which templates mark what the model wrote."""

    tags = {"generation"}  # noqa: RUF012 (the base class has it so)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Give the body as if the mark were not there."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise_exception(message: object) -> NoReturn:
    raise Refused(str(message)[:500])


def _tojson(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


def _strftime_now(form: str) -> str:
    return datetime.datetime.now().astimezone().strftime(str(form)[:100])


def environment() -> ImmutableSandboxedEnvironment:
    """Build the environment that chat templates expect, as the transformers library defines it."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _raise_exception
    made.globals["strftime_now"] = _strftime_now
    return made


def render(request: dict[str, Any]) -> dict[str, str]:
    """Answer one request; every way to fail is an answer too."""
    try:
        text = environment().from_string(request["template"]).render(request["values"])
    except Refused as error:
        return {"refused": str(error)}
    except Exception as error:  # whatever a stranger's code can raise is its own failure
        return {"error": _told(error)}
    if len(text) > _LONGEST_TEXT:
        return {"error": f"its text has {len(text):,} characters"}
    return {"text": text}


def _told(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "it wants too much memory"
    if isinstance(error, RecursionError):
        return "it calls itself without end"
    return f"{type(error).__name__}: {str(error)[:300]}"


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 (not on every system)

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _alarm(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _answer(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    _limit_memory()
    _answer("{}")
    for line in sys.stdin:
        _alarm(_LAST_RESORT_S)
        _answer(json.dumps(render(json.loads(line))))
        _alarm(0)


if __name__ == "__main__":
    main()
