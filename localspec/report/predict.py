"""The formulas' results as a document. Knows theory's numbers and the document's names."""

from collections.abc import Sequence
from dataclasses import asdict

from localspec.core import theory
from localspec.report.documents import PredictBest, PredictDocument, PredictPoint


def predict_document(
    alpha: float, cost_ratio: float, verify_cost: Sequence[float] = ()
) -> PredictDocument:
    """Compute the curve for gamma 0 to 16, the best of it, and the alpha from which it pays.

    `verify_cost`: v(2), v(3), …; none takes every pass to cost the same.
    """
    verify = theory.interpolated([1.0, *verify_cost]) if verify_cost else theory.free_verification
    points = theory.curve(alpha, cost_ratio, verify=verify)
    top = theory.best(points)
    return PredictDocument(
        alpha=alpha,
        cost_ratio=cost_ratio,
        verify_cost=list(verify_cost),
        curve=[PredictPoint(**asdict(point)) for point in points],
        best=PredictBest(gamma=top.gamma, speedup=top.speedup),
        break_even_alpha=theory.break_even_alpha(cost_ratio, verify=verify),
    )
