"""A number and its noun, where the commands write them."""

import pytest

from localspec.core.counted import counted


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "token", "0 tokens"),
        (1, "target pass", "1 target pass"),
        (2, "target pass", "2 target passes"),
        (1234, "token", "1,234 tokens"),
    ],
)
def test_one_thing_is_not_many(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said


def test_a_plural_that_is_not_regular_is_given() -> None:
    assert counted(1, "text differs", plural="texts differ") == "1 text differs"
    assert counted(3, "text differs", plural="texts differ") == "3 texts differ"
