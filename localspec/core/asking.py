"""The two questions while a round is drafted: is a law worth its pass, is a token worth its row.

Knows the round at hand and the price of time. Learns nothing; what is drawn stays drawn.
"""

from localspec.core.standing import Round, Standing
from localspec.core.survival import PLACES


def worth_drawing(now: Round, standing: Standing, index: int, *, chance: float) -> bool:
    """Apply the stop rule; drafting nothing leaves the round to the next in order."""
    rule = now.rule
    if rule is None:
        return True
    price = rule.price
    otherwise = 1.0 - price
    if index == 0 and now.cursor < len(now.order):
        following = now.order[now.cursor].outlook
        otherwise = max(otherwise, following.tokens - price * following.cost)
    survival = standing.survival
    follow = 0.5 * (chance + survival.chances[PLACES - 1])
    return rule.worth(index, survival.alive * chance, follow, otherwise=otherwise)


def worth_looking(now: Round, standing: Standing, index: int) -> bool:
    """Say whether a law not yet known may be worth its draft pass.

    Where laws tell much, half of them are better than the mean: those are what it is paid for.
    """
    rule, survival = now.rule, standing.survival
    if rule is None:
        return True
    alive, tail = survival.alive, survival.chances[PLACES - 1]
    chances = survival.outlooks(index)
    needed = len(chances) * rule.price * rule.token
    for chance in chances:
        needed -= rule.surplus(index, alive * chance, 0.5 * (chance + tail), enough=needed)
        if needed < 0.0:
            return True
    return False
