"""Two short real answers from the demo pair with their measured numbers, and what to type next.

Knows two questions. Everything else is what `localspec chat` does.
"""

import sys

from localspec.chat.conversation import Conversation
from localspec.chat.session import ChatSession
from localspec.cli.failures import show
from localspec.cli.opening import opened
from localspec.core.sampling import SamplingParams
from localspec.errors import LocalspecError
from localspec.runtime.demo_pair import demo_files
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import RunSettings
from localspec.ui.repl import legend
from localspec.ui.stream import ChatView, ViewOptions
from localspec.ui.terminal import open_terminal

REWRITE = """Write this text again, but with a river instead of the sea:

The lighthouse keeper climbs the stairs every evening and lights the lamp. The lamp turns slowly \
above the black water, and far away the ships see its light and know where the rocks are. In the \
morning the keeper climbs the stairs again, puts out the lamp, and writes the names of the ships \
in a large grey book."""
OPEN = "Write a short story about a cat who learns to swim."
QUESTIONS = (
    ("A rewrite of given text: much can be guessed, since the words stand there already.", REWRITE),
    ("An open question: little can be guessed.", OPEN),
)
NEXT = """Next:
  localspec chat demo                       talk to this pair
  localspec chat demo -p "..." --stats      one answer with all its counters
  localspec predict --alpha .7 --cost-ratio .1
  localspec chat --target BIG.gguf --draft SMALL.gguf
  localspec --help"""


def main() -> int:
    """Answer both questions; give the exit code."""
    terminal = open_terminal("auto")
    settings = RunSettings(
        demo_files(terminal.say), sampling=SamplingParams(temperature=0), seed=0, max_tokens=120
    )
    with opened(settings, terminal.say, terminal=terminal) as runtime:
        for line in legend(ChatView(terminal), terminal.width() - 1, ending=""):
            terminal.say(line)
        for title, question in QUESTIONS:
            terminal.say(f"\n== {title}\n\n> {question}\n")
            _answer(runtime, question)
    terminal.say(f"\n{NEXT}")
    return 0


def _answer(runtime: Runtime, question: str) -> None:
    """Show one answer as `localspec chat` would."""
    session = ChatSession(runtime, Conversation())
    view = ChatView(open_terminal("auto"), ViewOptions())
    view.show(session.reply(question), runtime.cancel)


if __name__ == "__main__":
    try:
        code = main()
    except LocalspecError as failure:
        code = show(failure)
    sys.exit(code)
