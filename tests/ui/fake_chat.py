"""A conversation with a scripted pair, to be run in a terminal: python fake_chat.py JSON.

Keys of the JSON: answers, block, pass_s, prefill_s, once (a prompt: no REPL), view, mark,
readout, color, template (false: none), why_off.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "chat"), str(HERE.parents[1])]

from scripted import ScriptedRuntime, saying  # noqa: E402

from localspec.chat.session import ChatSession  # noqa: E402
from localspec.core.events import FinishReason  # noqa: E402
from localspec.ui.lineinput import open_reader  # noqa: E402
from localspec.ui.repl import Repl  # noqa: E402
from localspec.ui.stream import ChatView, Mark, View, ViewOptions  # noqa: E402
from localspec.ui.terminal import open_terminal, use_utf8  # noqa: E402


def echo(prompt):
    """Answer with the bytes of the last message in hexadecimal, to see what arrived."""
    from scripted import END, ROLES

    ids = prompt.tolist()
    last = len(ids) - 1 - ids[::-1].index(ROLES["user"])
    message = bytes(ids[last + 1 : ids.index(END, last)])
    return f"got <{message.hex()}> turns={ids.count(ROLES['user'])}".encode()


def main() -> int:
    wish = json.loads(sys.argv[1])
    use_utf8()
    terminal = open_terminal(wish.get("color", "auto"))
    script = saying(*wish["answers"]) if "answers" in wish else echo
    runtime = ScriptedRuntime(
        script,
        block=wish.get("block", 4),
        pass_s=wish.get("pass_s", 0.001),
        prefill_s=wish.get("prefill_s", 0.0),
        why_off=wish.get("why_off", ""),
        capacity=1 << 20,
        sleep=True,
    )
    if not wish.get("template", True):
        runtime.template = None
    options = ViewOptions(
        View(wish.get("view", "tokens")),
        Mark(wish.get("mark", "none")),
        wish.get("readout", True),
    )
    session = ChatSession(runtime)
    view = ChatView(terminal, options, reason=runtime.reason)
    if "once" in wish:
        reply = view.show(session.reply(wish["once"]), runtime.cancel)
        return 130 if reply and reply.finish is FinishReason.INTERRUPTED else 0
    history = Path(wish["history"]) if wish.get("history") else None
    return Repl(session, view, open_reader(terminal, history)).run()


if __name__ == "__main__":
    sys.exit(main())
