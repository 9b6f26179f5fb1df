"""A number and its noun: `1 token`, `2,000 tokens`. Knows regular English plurals, nothing else."""


def counted(number: int, noun: str, *, plural: str = "") -> str:
    """Write a number with its noun; `plural` is given where it is more than a last letter."""
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {plural or noun + ending}"
