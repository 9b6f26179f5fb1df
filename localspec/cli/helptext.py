"""What `--help` says, command by command. Knows words only."""

PROGRAM = """Speculative decoding on your own machine: exact, measured, and honest when it does
not pay.

A small draft model (or a lookup in the text so far) guesses the next tokens, the target checks
them all in one pass, and the text follows the target's law as if nobody had guessed.

\b
  localspec chat demo                 talk to the small demo pair
  localspec chat qwen2.5-coder-7b     talk to a pair of the catalogue
  localspec models list --fits        which pairs run on this machine
"""

CHAT = """Talk to a pair, with a live readout of what guessing gains.

The text is coloured by who wrote it: the draft's guesses, or the target.

\b
Two kinds of guesser:
  --draft FILE        a draft model: a second, smaller GGUF file of the same vocabulary
  --drafter lookup    no second model: repeats are looked up in the text so far

\b
Examples:
  localspec chat --target big.gguf --draft small.gguf
  localspec chat --target big.gguf --drafter lookup -p "Fix the typos." < notes.txt

Input that is not a terminal is answered once; so is -p.
"""

PREDICT = """Show the speed-up that the papers' formulas expect.

\b
Example: 80 % of guesses accepted, a draft token costs a tenth of a target pass, and passes over
2, 3, 4 rows cost 1.1, 1.2, 1.3 of a pass over one:
  localspec predict --alpha 0.8 --cost-ratio 0.1 --verify-cost 1.1,1.2,1.3
"""

TRACE = """Show one answer round by round: what was guessed, p and q of each guess, its chance and
its draw, and what the target put in place of the first guess that fell.

\b
Examples:
  localspec trace demo -p "Name three rivers."                 as text, while it is written
  localspec trace demo -p "Name three rivers." --html page.html  as a page that explains itself

The token rule judges unless --rule says otherwise: its chances can be read off one token. γ is 4
unless --gamma says otherwise, so that there are guesses to see even where they do not pay.
"""

SETTINGS = """Most options can be given as a variable or in the settings file, too: --top-k as
LOCALSPEC_TOP_K, or as top-k in config.toml. A flag wins over a variable, a variable over the
file. `localspec config` shows every value and where it comes from."""

MODELS = """The catalogue of pairs, and their files on this disk."""

MODELS_LIST = """List pairs: size, here or not, do they fit in memory.

\b
Examples:
  localspec models list --fits
  localspec models list --for qwen2.5-coder-7b     files here that could draft for it
"""

MODELS_SHOW = """Show everything known about a pair.

Files, licences, layouts, recommended sampling."""

MODELS_PULL = """Download what is missing of a pair, every byte checked.

A download that was interrupted goes on where it stopped.

\b
Examples:
  localspec models pull qwen2.5-coder-7b --dry-run
  localspec models pull qwen2.5-coder-7b@Q4_0
"""

MODELS_ADD = """Add a pair of your own, if its draft fits.

\b
Example:
  localspec models add my-pair --target big.gguf --draft small.gguf
"""

MODELS_VERIFY = """Hold files and catalogue against what the hub publishes.

Exit code 3 when one of them is not what it should be.
"""

MODELS_RM = """Delete the files of a pair that no other pair uses, or layouts made here.

\b
Examples:
  localspec models rm qwen2.5-coder-7b
  localspec models rm qwen2.5-coder-7b --layouts     what tune made of its files
  localspec models rm --layouts                      every layout; tune makes them again
"""

MODELS_PATH = "Print where a pair's files are, the target's first."

DOCTOR = """Look at installation and machine, with a fix for each finding.

The engine is started in a process of its own, so that a crash is a finding, too. Exit code 3 when
an error was found. --report leaves out personal paths.
"""

CONFIG = """Show every setting and where its value comes from.

That is a flag, a variable, the settings file, the pair, or the default.

\b
Example:
  localspec config qwen2.5-coder-7b --temp 0
"""

BENCH = """Measure against plain decoding: does drafting pay on this machine, for this text?

Every drafter takes turns with plain decoding, with caches emptied and other prompts each time; the
verdict says how sure it is. Disturbed answers are repeated; a machine that stays too noisy gets no
number.

\b
Examples:
  localspec bench demo
  localspec bench demo --drafters model,lookup --gammas 1,3,7
  localspec bench demo --text novel.txt --text letters.txt
  localspec bench demo --html report.html --save bench.json
  localspec bench demo --min-speedup 1.2      exit code 3 when it is slower than that
"""

CHECK = """Say in about a minute whether a draft fits a target, this machine and this text.

Headers are compared, passes are timed, and plain answers are replayed: one read of an answer tells
what a draft would have guessed. Nothing is decoded with the draft. Exit code 3 when none pays.

\b
Examples:
  localspec check demo
  localspec check --target big.gguf --draft a.gguf --draft b.gguf
  localspec check --target big.gguf --draft a.gguf --quick      headers and memory only
"""

TUNE = """Find the fastest arrangement of files on this machine, and say what it costs in quality.

The storage layout of the weights decides what a pass over several rows costs. Layouts of target and
draft are timed on samples, every drafter (model, lookup, the pair's heads) is replayed on plain
answers, and the best are written and measured in turn with the given files. --layerskip also looks
for blocks that the target can do without, to draft for itself. Nothing is replaced: the choice is
used when asked for, with --tuned, or after --save. Exit code 3 when nothing surely pays.

\b
Examples:
  localspec tune demo
  localspec tune qwen2.5-coder-1.5b --text main.py --save
  localspec tune --target big.gguf --draft small.gguf --max-time 20m
  localspec tune --target big.gguf --layerskip --max-time 20m
  localspec chat demo --tuned
"""

COMMANDS = {
    "chat": CHAT,
    "bench": BENCH,
    "check": CHECK,
    "tune": TUNE,
    "predict": PREDICT,
    "trace": TRACE,
    "doctor": DOCTOR,
    "config": CONFIG,
    "models list": MODELS_LIST,
    "models show": MODELS_SHOW,
    "models pull": MODELS_PULL,
    "models add": MODELS_ADD,
    "models verify": MODELS_VERIFY,
    "models rm": MODELS_RM,
    "models path": MODELS_PATH,
}
