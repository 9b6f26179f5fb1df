"""`localspec predict`: the papers' formulas, with a measured cost of verifying if there is one.

Knows ranges and order of output. The numbers come from `core.theory`, the drawing from `ui`.
"""

import sys

from localspec.cli.binding import Common
from localspec.cli.build import COLORS, number, one_of
from localspec.cli.predict_options import PredictOptions
from localspec.core.theory import CurvePoint
from localspec.errors import OptionError
from localspec.report.documents import PredictDocument
from localspec.report.predict import predict_document
from localspec.report.write import to_json
from localspec.ui.tables import curve_chart
from localspec.ui.terminal import open_terminal

MOST_COST = 1e6


def run_predict(options: PredictOptions, common: Common) -> int:
    """Show the curve, the best gamma and the break-even.

    Raises: OptionError.
    """
    alpha = number("--alpha", _needed("--alpha", options.alpha), low=0, high=1)
    ratio = number("--cost-ratio", _needed("--cost-ratio", options.cost_ratio), low=0, high=1000)
    document = predict_document(alpha or 0.0, ratio or 0.0, verify_costs(options.verify_cost))
    if common.json:
        sys.stdout.write(to_json(document) + "\n")
        return 0
    show(document, common)
    return 0


def _needed(flag: str, value: float | None) -> float:
    if value is None:
        raise OptionError(
            f"{flag} is missing", "like: localspec predict --alpha 0.8 --cost-ratio 0.1"
        )
    return value


def verify_costs(text: str | None) -> list[float]:
    """Read `v2,v3,…`.

    Raises: OptionError.
    """
    costs: list[float] = []
    for word in (text or "").replace(";", ",").split(","):
        if not word.strip():
            continue
        try:
            cost = float(word)
        except ValueError:
            raise OptionError(
                f"--verify-cost: {word.strip()!r} is not a number", "like 1.1,1.2,1.3"
            ) from None
        number("--verify-cost", cost, low=0, high=MOST_COST, open_low=True)
        costs.append(cost)
    return costs


def show(document: PredictDocument, common: Common) -> None:
    """Draw the document."""
    terminal = open_terminal(one_of("--color", common.color or "auto", COLORS))
    points = [CurvePoint(p.gamma, p.tokens_per_pass, p.speedup) for p in document.curve]
    lines = curve_chart(points, terminal.width(), unicode=terminal.unicode)
    sys.stdout.write("".join(f"{line}\n" for line in [*lines, "", *verdict(document)]))


def verdict(document: PredictDocument) -> list[str]:
    """Say which gamma to use, and what it takes to gain anything."""
    alpha, ratio = f"alpha {document.alpha:g}", f"cost ratio {document.cost_ratio:g}"
    top = document.best
    first = (
        f"Best: γ {top.gamma}, {top.speedup:.2f} times as fast as plain decoding."
        if top.gamma
        else f"It does not pay at {alpha} and {ratio}: leave the draft off."
    )
    if document.break_even_alpha is None:
        return [first, "At these costs no acceptance rate pays."]
    return [first, f"It begins to pay at an acceptance rate of {document.break_even_alpha:.3f}."]
