"""The counters of an answer, a comparison and the first lines of a conversation, in words.

Knows tallies and facts. Does not know terminals besides a width and whether they draw Unicode.
"""

from localspec.chat.partners import Facts
from localspec.chat.session import Comparison, Reply
from localspec.core.counted import counted
from localspec.core.tally import (
    Account,
    Tally,
    acceptance_by_position,
    by_drafter,
    shares_of_saving,
)
from localspec.ui.readout import NO_DRAFT, ago, number, seconds
from localspec.ui.tables import bar, facts

BAR = 20


def stats(reply: Reply, width: int, *, unicode: bool = True) -> list[str]:
    """Give all that is known about an answer, aligned."""
    tally = reply.tally
    rows = [("tokens", _tokens(tally)), ("prompt", _prompt(tally)), ("speed", _speed(tally))]
    if tally.drafted:
        rows.append(("acceptance", _acceptance(tally)))
        rows += _positions(tally, unicode)
    rows.append(("time", _time(tally)))
    shares = shares_of_saving(tally)
    rows += [
        (f"by {name}", _account(account, tally.baseline.seconds, shares.get(name)))
        for name, account in sorted(by_drafter(tally.steps).items())
    ]
    if reply.invalid:
        rows.append(("text", f"{reply.invalid} × U+FFFD for bytes that were no UTF-8"))
    rows.append(("ended", reply.finish.value))
    return facts(rows, width)


def _tokens(tally: Tally) -> str:
    fields = [f"{tally.emitted:,} written", f"{tally.accepted:,} accepted"]
    fields.append(counted(tally.passes, "target pass"))
    return " · ".join([*fields, f"{tally.cut:,} cut"] if tally.cut else fields)


def _prompt(tally: Tally) -> str:
    reused = [f"{tally.reused:,} from the cache"] if tally.reused else []
    return " · ".join([counted(tally.prompt, "token"), *reused, seconds(tally.prefill_s)])


def _speed(tally: Tally) -> str:
    speed, plain = tally.tokens_per_s, tally.baseline_tps
    if speed is None:
        return "nothing measured yet"
    fields = [f"{number(speed)} tok/s"]
    if plain is not None:
        samples = len(tally.baseline.samples)
        passes = counted(samples, "plain pass")
        age = ago(tally.baseline.age or 0)
        fields.append(f"plain {number(plain)} (median of {passes}, the last {age})")
    if not tally.drafted:
        return " · ".join([*fields, NO_DRAFT])
    found = tally.speedup_estimate()
    if found:
        fields.append(f"{found.value:.2f}× plain (95 %: {found.low:.2f}-{found.high:.2f})")
    return " · ".join(fields)


def _acceptance(tally: Tally) -> str:
    rate = (tally.acceptance_rate or 0) * 100
    return " · ".join(
        [
            f"{tally.accepted:,} of {tally.judged:,} judged ({rate:.0f} %)",
            f"{tally.drafted:,} drafted",
            f"{tally.tokens_per_pass or 0:.1f} tokens a pass",
        ]
    )


def _positions(tally: Tally, unicode: bool) -> list[tuple[str, str]]:
    """Draw the acceptance of each drafted place."""
    rates = acceptance_by_position(tally.steps)
    return [
        ("by place" if place == 0 else "", f"{place + 1:2d} {rate * 100:3.0f} % {drawn}")
        for place, rate in enumerate(rates)
        for drawn in [bar(rate, 1.0, BAR, unicode=unicode)]
    ]


def _time(tally: Tally) -> str:
    whole = tally.decode_s or 1.0
    parts = [("draft", tally.draft_s), ("verify", tally.verify_s), ("other", tally.other_s)]
    return " · ".join(f"{name} {seconds(s)} ({100 * s / whole:.0f} %)" for name, s in parts)


def _account(account: Account, plain_s: float | None, share: float | None) -> str:
    """Say what a drafter did, what it cost, and what part of the saving is its own."""
    rate = (account.acceptance_rate or 0) * 100
    fields = [
        counted(account.rounds, "round"),
        f"accepted {account.accepted:,} of {account.judged:,} ({rate:.0f} %)",
        f"{1e3 * account.draft_s / max(account.drafted, 1):.1f} ms a drafted token",
    ]
    saved = account.saved_s(plain_s)
    if saved is not None:
        part = f" ({100 * share:.0f} % of the saving)" if share is not None else ""
        fields.append(f"{'saved' if saved >= 0 else 'lost'} {seconds(abs(saved))}{part}")
    if account.temperature != 1.0:
        fields.append(f"draft temperature {account.temperature:.2f}")
    return " · ".join(fields)


def comparison(found: Comparison, width: int, *, sampled: bool) -> list[str]:
    """Say how the two answers to one prompt differ in time and text."""
    ours, plain = found.speculative.tally, found.plain.tally
    rows = [
        (
            "with draft",
            f"{counted(ours.emitted, 'token')} in {seconds(ours.decode_s)} · {_tps(ours)}",
        ),
        (
            "plain",
            f"{counted(plain.emitted, 'token')} in {seconds(plain.decode_s)} · {_tps(plain)}",
        ),
    ]
    if found.speedup:
        rows.append(("speed-up", f"{found.speedup:.2f}×"))
    rows.append(("text", _text(found, sampled)))
    return facts(rows, width)


def _text(found: Comparison, sampled: bool) -> str:
    if found.first_difference is None:
        return "identical, token by token"
    place = f"differs from token {found.first_difference + 1} on"
    if sampled:
        return f"{place} · sampled: both follow the target's law, with other draws"
    return f"{place} · passes of other widths round differently; --strict rules it out"


def _tps(tally: Tally) -> str:
    speed = tally.tokens_per_s
    return f"{number(speed)} tok/s" if speed else "no speed"


def banner(about: Facts, width: int) -> list[str]:
    """Give the first lines: what is loaded and how it guesses, broken at its fields."""
    said = " · ".join(
        [
            f"target {about.target}",
            f"draft {about.draft}" if not about.draft.startswith("no ") else about.draft,
            f"drafter {about.drafter}",
            f"γ {about.gamma}",
            about.sampling,
        ]
    )
    return [line[2:] for line in facts([(about.name, said)], width + 2)]
