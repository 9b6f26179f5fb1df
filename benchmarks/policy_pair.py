"""What both benchmarks of the policy are asked on the command line, and what they say of costs.

Knows options and files. Does not know what is measured.
"""

import argparse
from pathlib import Path

from benchmarks.common import pure_q4_0
from localspec.measure.costs import Costs
from localspec.runtime.demo_pair import demo_files
from localspec.runtime.settings import PairFiles


def options(text: str | None, *, fresh: str) -> argparse.ArgumentParser:
    """Give a parser with the options of both; `text` describes, `fresh` names what starts anew."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--pure", action="store_true", help="use pure Q4_0 layouts of both files")
    parser.add_argument("--temps", default="0,0.7")
    parser.add_argument("--tokens", type=int, default=96, help="longest answer")
    parser.add_argument("--fresh", action="store_true", help=f"a new policy for every {fresh}")
    return parser


def files(args: argparse.Namespace) -> PairFiles:
    """Give the files that were named, or the demo pair."""
    if args.target is None:
        return demo_files(print)
    change = pure_q4_0 if args.pure else Path
    return PairFiles(change(args.target), change(args.draft), derived=True)


def in_words(costs: Costs) -> str:
    """Say what passes and drafted tokens cost, in one-row passes."""
    curve = " ".join(f"{v:.2f}" for v in costs.verify_costs())
    ratios = ", ".join(f"{name} {costs.cost_ratio(name) or 0:.3f}" for name in costs.drafts)
    return f"cost of 1, 2, ... rows: {curve}; of a drafted token: {ratios}"
