"""The choice of a tune, used by a later run: the files, and drafter and gamma where none is named.

Knows options and choices. Never uses one silently: the line it writes names the files that run.
"""

from dataclasses import replace

from localspec.cli.notes import Notes
from localspec.cli.options import ModelOptions
from localspec.cli.pairfiles import Chosen
from localspec.errors import NotHere
from localspec.runtime.choices import Choice, chosen_files, load_choice
from localspec.runtime.settings import LAYERSKIP, NONE


def with_tuned(
    model: ModelOptions, chosen: Chosen, notes: Notes, *, if_saved: bool
) -> tuple[ModelOptions, Chosen]:
    """Put the tuned files in place of the given ones, if that was asked for.

    Raises: NotHere when nothing was tuned for these files, LocalspecError when a file of the
    choice cannot be made again.
    """
    if model.tuned is False or not (model.tuned or if_saved):
        return model, chosen
    choice = load_choice(chosen.files)
    if choice is None and model.tuned:
        raise NotHere(
            f"nothing is tuned for {chosen.files.name or chosen.files.target.name}",
            f"localspec tune {words(model)}, with the same files",
        )
    if choice is None or not (model.tuned or choice.always):
        return model, chosen
    notes.say(told(choice))
    files = chosen_files(chosen.files, choice, notes.say)
    model = _with_drafter(model, choice)
    if LAYERSKIP not in (model.drafter or ""):
        files = replace(files, skipped=None)
    return model, replace(chosen, files=files)


def _with_drafter(model: ModelOptions, choice: Choice) -> ModelOptions:
    """Take drafter and gamma of the choice, where the user named none."""
    if model.plain or model.drafter:
        return model
    gamma = str(choice.gamma) if choice.gamma and not model.gamma else model.gamma
    return replace(model, drafter=choice.drafter, gamma=gamma)


def told(choice: Choice) -> str:
    """Name what runs instead of the given files, and what it is worth."""
    said = [f"tuned: target {choice.target.words}"]
    if choice.kl_mean:
        said.append(f"its text differs from the given target's, KL {choice.kl_mean:.4f}")
    if choice.draft:
        said.append(f"draft {choice.draft.words}")
    if choice.drafter == NONE:
        said.append("no draft")
    else:
        said.append(choice.drafter + (f" γ {choice.gamma}" if choice.gamma else ""))
    said.append(f"{choice.speedup:.2f} times the given files' plain speed when tuned")
    return " · ".join([*said, "--no-tuned leaves it out"])


def words(model: ModelOptions) -> str:
    """Give the words that name the same pair again."""
    parts = [model.pair or ""]
    parts += [f"--target {model.target}"] if model.target else []
    parts += [f"--draft {model.draft}"] if model.draft else []
    return " ".join(part for part in parts if part)
