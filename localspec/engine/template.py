"""Chat templates: from roles and contents to the text, and the ids, that a model was tuned on.

A template is a program from a stranger's file, so it runs in a process of its own, in a sandbox,
with a deadline and a memory limit. Knows nothing of conversations beyond a list of messages.
"""

import contextlib
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, cast

from localspec.core.tokens import Token
from localspec.engine.model import Model
from localspec.engine.plaintext import quote
from localspec.engine.vocabulary import Vocabulary
from localspec.errors import PairRefused

Message = Mapping[str, str]

_CHILD = Path(__file__).with_name("template_child.py")
_LONGEST_SOURCE = 256 * 1024
_START_S = 60.0
_RENDER_S = 5.0
_HINT = "give another file of this model"


class TemplateRefused(PairRefused):
    """The template raised an error of its own about these messages."""


class ChatTemplate:
    """Render messages as the model expects them; close it to end its process.

    The process starts with the first `render`, or with `start`, which does not wait for it.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", deadline_s: float = _RENDER_S):
        if len(source.encode("utf-8", "replace")) > _LONGEST_SOURCE:
            raise PairRefused(f"the chat template has {len(source):,} characters", _HINT)
        self.source = source
        self._values = {"bos_token": bos, "eos_token": eos}
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[str] | None = None
        self._ready = False
        self._ending: weakref.finalize[..., ChatTemplate] | None = None

    @classmethod
    def of(cls, model: Model) -> Self | None:
        """Take the template from a model's header; None when it has none."""
        if model.chat_template is None:
            return None
        vocabulary = model.vocabulary
        return cls(
            model.chat_template,
            bos=_special_text(vocabulary, vocabulary.bos),
            eos=_special_text(vocabulary, vocabulary.eos),
        )

    def start(self) -> None:
        """Start the process now, so that the first render need not wait for it."""
        if self._process is None:
            self._process, self._ready = _spawn(), False
            self._ending = weakref.finalize(self, _end, self._process)

    def render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> str:
        """Render messages of `role` and `content`.

        A template that refuses a system message gets its text before the first user message.
        Raises: PairRefused when the template is broken, too slow or too large.
        """
        try:
            return self._rendered(messages, add_generation_prompt)
        except TemplateRefused:
            merged = without_system(messages)
            if merged == list(messages):
                raise
            return self._rendered(merged, add_generation_prompt)

    def prompt_ids(
        self,
        vocabulary: Vocabulary,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
    ) -> list[Token]:
        """Render and tokenise, with exactly as many BOS in front as the header asks for.

        What only looks like a control token in the words of user or system stays text: a pasted
        log must not end a turn, nor speak as somebody else.
        """
        quoted = quote(messages, vocabulary.control_texts)
        text = self.render(quoted.messages, add_generation_prompt=add_generation_prompt)
        ids: list[Token] = []
        for part, special in quoted.parts(text):
            ids += vocabulary.tokenize(part, special=special, bos=False)
        return vocabulary.with_bos(ids)

    def close(self) -> None:
        """End the process."""
        if self._ending is not None:
            self._ending()
        self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _rendered(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        values = {
            **self._values,
            "messages": [dict(message) for message in messages],
            "add_generation_prompt": add_generation_prompt,
            # Templates ask whether these are none, not whether they are defined.
            "tools": None,
            "documents": None,
        }
        answer = self._ask({"template": self.source, "values": values})
        if "refused" in answer:
            raise TemplateRefused(f"the chat template refuses: {answer['refused']}", _HINT)
        if "error" in answer:
            raise PairRefused(f"the chat template fails: {answer['error']}", _HINT)
        return str(answer["text"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.start()
        try:
            if not self._ready:
                self._receive(_START_S)
                self._ready = True
            self._send(json.dumps(request))
            return self._receive(self._deadline_s)
        except BaseException:
            self.close()  # an answer may still be under way, and would be taken for the next one
            raise

    def _send(self, line: str) -> None:
        process = cast("subprocess.Popen[str]", self._process)
        pipe = cast(TextIO, process.stdin)
        try:
            pipe.write(line + "\n")
            pipe.flush()
        except OSError as error:
            raise PairRefused(f"the chat template's process ended: {error}", _HINT) from error

    def _receive(self, deadline_s: float) -> dict[str, Any]:
        process = cast("subprocess.Popen[str]", self._process)
        timer = threading.Timer(deadline_s, process.kill)
        timer.daemon = True
        timer.start()
        try:
            line = cast(TextIO, process.stdout).readline()
        finally:
            timer.cancel()
        if not line.endswith("\n"):
            raise PairRefused(
                f"the chat template did not finish within {deadline_s:g} s, or ran out of memory",
                _HINT,
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def without_system(messages: Sequence[Message]) -> list[Message]:
    """Put the text of system messages before that of the first user message."""
    system = [each["content"] for each in messages if each["role"] == "system"]
    rest = [each for each in messages if each["role"] != "system"]
    if not system or not rest or rest[0]["role"] != "user":
        return list(messages)
    first = {**rest[0], "content": "\n\n".join([*system, rest[0]["content"]])}
    return [first, *rest[1:]]


def _special_text(vocabulary: Vocabulary, token: Token | None) -> str:
    if token is None:
        return ""
    return vocabulary.piece(token, special=True).decode("utf-8", "replace")


def _spawn() -> "subprocess.Popen[str]":
    # A session of its own: Ctrl-C in the terminal is for us, not for the renderer.
    return subprocess.Popen(
        [sys.executable, "-P", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()
