"""Do two model files fit each other: in words a person understands, from headers alone.

Compares vocabularies, special ids, templates, sizes and, for heads, the numbers that tie a head to
its target. Never decides by architecture name, never loads weights, and has no switch that skips
a check. Does not know memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from localspec.core.counted import counted
from localspec.errors import PairRefused
from localspec.pairs.header import Header
from localspec.pairs.kinds import HEADS, NOT_A_DRAFT, Mode, an, has_mtp, mode_of, mtp_layers
from localspec.pairs.vocabulary import SPECIAL_KEYS, Vocabulary, read_vocabulary, template_family

Level = Literal["ok", "note", "warning", "refused"]
CLEARLY_SMALLER = 0.8
# Families add a few dozen tokens between sizes (Gemma, Qwen); a tenth is another vocabulary.
MOST_EXTRA = 0.1


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: `id` names the check, `detail` says what was found."""

    id: str
    level: Level
    detail: str

    @property
    def ok(self) -> bool:
        """Tell whether nothing is wrong."""
        return self.level in ("ok", "note")


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a draft fits a target: the mode it runs in, and each finding."""

    mode: Mode
    findings: tuple[Finding, ...]
    target_usable: int = 0
    draft_usable: int = 0
    overlap: float | None = None

    @property
    def refusal(self) -> Finding | None:
        """Give the finding that rules the pair out, if there is one."""
        return next((f for f in self.findings if f.level == "refused"), None)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Give what is worth a word, though the pair runs."""
        return tuple(f for f in self.findings if f.level == "warning")

    @property
    def verdict(self) -> str:
        """Give the outcome in one line."""
        if self.refusal:
            return f"refused: {self.refusal.detail}"
        if self.warnings:
            return "fits; " + "; ".join(warning.detail for warning in self.warnings)
        return "fits"

    def require(self, alternatives: Sequence[str] = ()) -> None:
        """Refuse a pair that cannot run, naming drafts that would fit.

        Raises: PairRefused with the check and the first difference.
        """
        if self.refusal is None:
            return
        fitting = f"these would fit: {', '.join(alternatives)}" if alternatives else ""
        hint = fitting or "choose a draft of the target's own family: `localspec models list`"
        raise PairRefused(f"{self.refusal.id}: {self.refusal.detail}", hint)


def compare(target: Header, draft: Header) -> Fit:
    """Say whether `draft` can guess for `target`, and how.

    Raises: PairRefused when a header carries no usable vocabulary of its own.
    """
    mode, target_mode = mode_of(draft), mode_of(target)
    if target_mode != "model":
        what = NOT_A_DRAFT.get(target_mode, f"{an(target_mode)} head, which needs a target")
        return Fit(mode, (Finding("kind", "refused", f"the target is {what}"),))
    if mode in NOT_A_DRAFT:
        return Fit(mode, (Finding("kind", "refused", f"the draft is {NOT_A_DRAFT[mode]}"),))
    if mode in HEADS:
        return _compare_head(target, draft, mode)
    ours, theirs = read_vocabulary(target), read_vocabulary(draft)
    findings = (
        Finding("kind", "ok", "the draft is a model of its own"),
        *compare_vocabularies(ours, theirs),
        *_specials(ours, theirs),
        *_added(target, draft),
        _template(target, draft),
        _size(target, draft),
    )
    return Fit(mode, findings, ours.usable, theirs.usable, overlap(ours, theirs))


def own_head(target: Header) -> Fit:
    """Say whether a target can guess with prediction layers of its own."""
    layers = mtp_layers(target)
    if layers and not has_mtp(target):
        detail = "the target's prediction layers were left out of its file; take one with them"
        return Fit("mtp", (Finding("kind", "refused", detail),))
    if layers:
        detail = f"the target carries {layers} prediction layer{'s' * (layers > 1)} of its own"
        usable = read_vocabulary(target).usable
        return Fit("mtp", (Finding("kind", "ok", detail),), usable, usable)
    detail = "the target carries no prediction layer of its own to guess with; name a draft"
    return Fit("mtp", (Finding("kind", "refused", detail),))


def compare_vocabularies(ours: Vocabulary, theirs: Vocabulary) -> tuple[Finding, ...]:
    """Compare id by id: tokenizer type, texts, tails. `ours` is the target's."""
    if ours.kind != theirs.kind:
        detail = (
            f"the tokenizer type differs: target {ours.kind!r}, draft {theirs.kind!r}; "
            "use a draft converted with the target's tokenizer"
        )
        return (Finding("tokenizer type", "refused", detail),)
    findings = [Finding("tokenizer type", "ok", f"both {ours.kind}")]
    if ours.pre != theirs.pre:
        detail = f"text is split by other rules: target {ours.pre!r}, draft {theirs.pre!r}"
        findings.append(Finding("tokenizer rules", "warning", detail))
    return (*findings, _tokens(ours, theirs), _tail(ours, theirs))


def _tokens(ours: Vocabulary, theirs: Vocabulary) -> Finding:
    pairs = enumerate(zip(ours.texts, theirs.texts, strict=False))
    differing = [token for token, (left, right) in pairs if left != right]
    real = [t for t in differing if not (ours.means_nothing(t) or theirs.means_nothing(t))]
    if real:
        first = real[0]
        detail = (
            f"token {first} is {ours.show(first)} in the target and {theirs.show(first)} in the "
            f"draft; {len(real)} ids differ, overlap {overlap(ours, theirs):.0%}"
        )
        return Finding("tokens", "refused", detail)
    if differing:
        return Finding("tokens", "ok", f"the same but for {len(differing)} unused specials")
    return Finding("tokens", "ok", "identical as far as both go")


def _tail(ours: Vocabulary, theirs: Vocabulary) -> Finding:
    extra = len(ours) - len(theirs)
    if not extra:
        return Finding("size", "ok", f"both have {len(ours)} ids")
    shorter, longer, who = (theirs, ours, "target") if extra > 0 else (ours, theirs, "draft")
    real = sum(not longer.means_nothing(token) for token in range(len(shorter), len(longer)))
    if not real:
        return Finding(
            "size", "ok", f"the {who} has {counted(abs(extra), 'extra id')}, all padding"
        )
    detail = f"the {who} has {counted(abs(extra), 'extra id')}, {real} of them with a text"
    if real > MOST_EXTRA * len(longer):
        return Finding("size", "refused", f"{detail}: these are different vocabularies")
    fate = "which the draft never guesses" if who == "target" else "which are never drafted"
    return Finding("size", "note", f"{detail}, {fate}")


def overlap(ours: Vocabulary, theirs: Vocabulary) -> float:
    """Give the share of the target's texts that the draft has too, at whatever id."""
    texts = {text for token, text in enumerate(ours.texts) if not ours.means_nothing(token)}
    return len(texts.intersection(theirs.texts)) / max(len(texts), 1)


def _specials(ours: Vocabulary, theirs: Vocabulary) -> tuple[Finding, ...]:
    return tuple(_special(name, ours, theirs) for name in SPECIAL_KEYS)


def _special(name: str, ours: Vocabulary, theirs: Vocabulary) -> Finding:
    left, right = ours.special.get(name), theirs.special.get(name)
    title = name.upper()
    if left == right:
        return Finding(name, "ok", f"{title} is the same" if left is not None else f"no {title}")
    if left is None:
        return Finding(name, "warning", f"only the draft has an {title} token; it is not used")
    if right is None:
        return Finding(name, "warning", f"only the target has an {title} token")
    detail = f"{title} is {left} {ours.show(left)} in the target, {right} {theirs.show(right)}"
    return Finding(name, "warning", f"{detail} in the draft; the target's counts")


def _added(target: Header, draft: Header) -> tuple[Finding, ...]:
    findings = []
    for name in ("bos", "eos"):
        key = f"tokenizer.ggml.add_{name}_token"
        left, right = target.flag(key), draft.flag(key)
        if left is None or right is None or left == right:
            findings.append(Finding(f"add_{name}", "ok", "the same, or left open"))
            continue
        who = "target" if left else "draft"
        detail = f"only the {who} adds {name.upper()} to a prompt; the target's way is used"
        findings.append(Finding(f"add_{name}", "warning", detail))
    return tuple(findings)


def _template(target: Header, draft: Header) -> Finding:
    ours, theirs = template_family(target), template_family(draft)
    key = "tokenizer.chat_template"
    if target.text(key) == draft.text(key):
        return Finding("template", "ok", "the same chat template" if ours else "no chat template")
    if ours == theirs and ours != "other":
        return Finding(
            "template", "note", f"two versions of a {ours} template; the target's is used"
        )
    if ours is None or theirs is None:
        base, chat = ("target", "draft") if ours is None else ("draft", "target")
        detail = f"the {chat} was trained to chat ({ours or theirs}), the {base} has no template"
        return Finding("template", "warning", f"{detail}: expect fewer accepted tokens")
    detail = f"chat templates differ: target {ours}, draft {theirs}; the target's is used"
    return Finding("template", "warning", detail)


def _size(target: Header, draft: Header) -> Finding:
    if draft.path.exists() and target.path.exists() and draft.path.samefile(target.path):
        return Finding("smaller", "warning", "draft and target are the same file")
    share = draft.weights / max(target.weights, 1)
    if share > 1:
        detail = f"draft is larger than target ({_weights(draft)} against {_weights(target)})"
        return Finding("smaller", "warning", f"{detail}: swap them")
    detail = f"the draft has {share:.0%} of the target's weights"
    return Finding("smaller", "ok" if share <= CLEARLY_SMALLER else "warning", detail)


def _weights(header: Header) -> str:
    return f"{header.weights / 1e9:.2f} billion weights"


def _compare_head(target: Header, head: Header, mode: Mode) -> Fit:
    ours = read_vocabulary(target)
    findings = [
        Finding("kind", "ok", f"the draft is an {mode} head; it runs as `--drafter {mode}`")
    ]
    findings += [_width(target, head), _taps(target, head)]
    if head.array("tokenizer.ggml.tokens") is not None:
        theirs = read_vocabulary(head)
        findings += compare_vocabularies(ours, theirs)
        return Fit(mode, tuple(findings), ours.usable, theirs.usable, overlap(ours, theirs))
    rows = head.number("{arch}.vocab_size")
    if rows is not None and rows != len(ours):
        detail = f"the head was made for {rows} ids, the target has {len(ours)}"
        findings.append(Finding("tokens", "refused", detail))
    return Fit(mode, tuple(findings), ours.usable, ours.usable)


def _width(target: Header, head: Header) -> Finding:
    ours = target.number("{arch}.embedding_length")
    theirs = (
        head.number("{arch}.target_hidden_size")
        or head.number("{arch}.embedding_length_out")
        or head.number("{arch}.embedding_length")
    )
    if ours == theirs:
        return Finding("hidden size", "ok", f"both {ours}")
    detail = f"the head was made for a hidden size of {theirs}, the target has {ours}"
    return Finding("hidden size", "refused", detail)


def _taps(target: Header, head: Header) -> Finding:
    layers = head.array("{arch}.target_layers")
    blocks = (target.number("{arch}.block_count") or 0) - mtp_layers(target)
    if layers is None:
        return Finding("taps", "ok", "the head reads the last hidden state")
    taps = [int(tap) for tap in layers.numbers().tolist()]
    if all(0 <= tap < blocks for tap in taps):
        return Finding("taps", "ok", f"the head reads layers {', '.join(map(str, taps))}")
    detail = f"the head reads layer {max(taps)}, the target has {blocks}"
    return Finding("taps", "refused", detail)
