"""Answers that fall into a loop: where they begin to, so that they can be cut there.

Small models do it at temperature 0, and a loop flatters every drafter. Knows ids only.
"""

from collections.abc import Sequence

LONGEST_PERIOD = 48
REPEATS = 3
SHORTEST_LOOP = 12


def loop_start(tokens: Sequence[int]) -> int | None:
    """Give the length to keep of an answer whose end repeats itself; None while it does not.

    A loop is a run of ids at the end that stands there three times in a row, a dozen ids at least.
    What is kept ends with its first round.
    """
    for period in range(1, LONGEST_PERIOD + 1):
        needed = max(period * REPEATS, SHORTEST_LOOP)
        if needed > len(tokens):
            continue
        if all(tokens[-i] == tokens[-i - period] for i in range(1, needed - period + 1)):
            return _first_round(tokens, period)
    return None


def _first_round(tokens: Sequence[int], period: int) -> int:
    """Go back as far as the repetition reaches, and keep one round of it."""
    at = len(tokens) - period
    while at > 0 and tokens[at - 1] == tokens[at - 1 + period]:
        at -= 1
    return at + period
