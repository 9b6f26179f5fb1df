"""Turn a published Medusa checkpoint (safetensors) into the file of heads that localspec reads.

`python -m tools.convert_medusa --checkpoint DIR|FILE --target FILE.gguf --out FILE.gguf`. Knows the
checkpoints' names (N.0.linear.weight, N.0.linear.bias, N.1.weight, with or without a prefix such as
`medusa_head.`). Only the weights are taken: answers stay exact, the papers' typical acceptance is
not. Needs `gguf` and `safetensors` (extra `train`).
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import safetensors
from numpy.typing import NDArray

from localspec.drafters.medusa_heads import Layer, MedusaHeads
from localspec.engine import Model
from localspec.errors import LocalspecError, NotHere, OptionError, PairRefused
from localspec.pairs.header import read_header
from localspec.pairs.vocabulary import read_vocabulary
from tools.medusa_writer import Writing, write_medusa
from tools.tensors import TYPES

Floats = NDArray[np.float32]
NAME = re.compile(r"(?:.*\.)?(\d+)\.(\d+)\.(linear\.weight|linear\.bias|weight)")
NAMES = ("medusa_lm_head.safetensors", "model.safetensors")
DTYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}


def convert(checkpoint: Path, target: Path, out: Path, how: Writing | None = None) -> MedusaHeads:
    """Write the heads of a checkpoint for a target, whole vocabulary and all.

    Raises: NotHere, PairRefused when the checkpoint has other names or is for another target.
    """
    heads = read_checkpoint(checkpoint)
    check_fits(heads, target, checkpoint)
    write_medusa(out, heads, target, how or Writing(licence="see the checkpoint"))
    return heads


def read_checkpoint(path: Path) -> MedusaHeads:
    """Read the heads of a checkpoint file, or of the folder that holds one.

    Raises: NotHere, PairRefused.
    """
    file = _file(path)
    try:
        stored = dict(safetensors.deserialize(file.read_bytes()))
    except safetensors.SafetensorError as error:
        raise PairRefused(f"{file.name} is no sound safetensors file: {error}") from error
    parts = {
        (int(found[1]), int(found[2]), found[3]): _floats(file, name, stored[name])
        for name in stored
        if (found := NAME.fullmatch(name))
    }
    return _heads(file, parts)


def check_fits(heads: MedusaHeads, target: Path, checkpoint: Path) -> None:
    """Compare width and number of ids.

    Raises: PairRefused.
    """
    header = read_header(target)
    width, size = header.number("{arch}.embedding_length"), len(read_vocabulary(header))
    if heads.width != width:
        raise PairRefused(
            f"{checkpoint.name} reads states of {heads.width} numbers, {target.name} has {width}"
        )
    if len(heads.ids) > size:
        raise PairRefused(f"{checkpoint.name} knows {len(heads.ids)} ids, {target.name} has {size}")


def reduced(heads: MedusaHeads, target: Path, texts: Sequence[Path], count: int) -> MedusaHeads:
    """Keep the ids that texts use most: a smaller file, and a smaller product a round."""
    with Model.load(target) as model:
        seen = np.zeros(len(heads.ids), np.int64)
        for path in texts:
            ids = model.vocabulary.tokenize(
                path.read_text(encoding="utf-8"), special=False, bos=False
            )
            np.add.at(seen, [token for token in ids if token < len(seen)], 1)
        seen[[token for token in model.vocabulary.eog if token < len(seen)]] += 1
    kept = np.sort(np.argsort(-seen, kind="stable")[:count])
    return replace(heads, projection=heads.projection[..., kept, :], ids=heads.ids[kept])


def _file(path: Path) -> Path:
    places = [path / name for name in NAMES] if path.is_dir() else [path]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise NotHere(f"no checkpoint in {path}" if path.is_dir() else f"no file {path}")
    return found


def _floats(file: Path, name: str, tensor: Mapping[str, object]) -> Floats:
    kind, shape, data = str(tensor["dtype"]), tensor["shape"], tensor["data"]
    raw = np.frombuffer(bytes(data), np.uint8)  # type: ignore[call-overload]
    if kind == "BF16":
        flat = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
    elif kind in DTYPES:
        flat = raw.view(DTYPES[kind]).astype(np.float32)
    else:
        raise PairRefused(f"{file.name}: {name} is {kind}, not {', '.join(DTYPES)} or BF16")
    return np.asarray(flat.reshape(shape), np.float32)  # type: ignore[call-overload]


def _heads(file: Path, parts: Mapping[tuple[int, int, str], Floats]) -> MedusaHeads:
    count = 1 + max((head for head, _, _ in parts), default=-1)
    layers = 1 + max((at for _, at, name in parts if name != "weight"), default=-1)
    if not count or not layers:
        raise PairRefused(f"{file.name} has no Medusa heads: no tensor like 0.0.linear.weight")

    def part(head: int, layer: int, name: str) -> Floats:
        found = parts.get((head, layer, name))
        if found is None:
            _missing(file, f"{head}.{layer}.{name}")
        return found

    def stacked(layer: int, name: str) -> Floats:
        each = [part(head, layer, name) for head in range(count)]
        if len({one.shape for one in each}) > 1:
            raise PairRefused(f"{file.name}: the heads' {layer}.{name} differ in shape")
        return np.stack(each)

    blocks = tuple(
        Layer(stacked(layer, "linear.weight"), stacked(layer, "linear.bias"))
        for layer in range(layers)
    )
    projection = stacked(layers, "weight")
    width = projection.shape[-1]
    if any(block.weight.shape != (count, width, width) for block in blocks):
        raise PairRefused(f"{file.name}: blocks and projections differ in width")
    return MedusaHeads(blocks, projection, np.arange(projection.shape[1]))


def _missing(file: Path, name: str) -> NoReturn:
    raise PairRefused(f"{file.name} has no {name}: it is not a whole checkpoint of Medusa heads")


def main(words: Sequence[str] | None = None) -> int:
    """Convert; give the exit code."""
    made = argparse.ArgumentParser(prog="python -m tools.convert_medusa", description=__doc__)
    made.add_argument("--checkpoint", type=Path, required=True, help="safetensors file or folder")
    made.add_argument("--target", type=Path, required=True, help="the target's GGUF file")
    made.add_argument("--out", type=Path, required=True, help="GGUF file to write")
    made.add_argument("--type", choices=list(TYPES), default="q8_0", help="of the weights (q8_0)")
    made.add_argument("--ids", type=int, help="keep so many ids, those that --text uses most")
    made.add_argument("--text", type=Path, action="append", default=[], help="may be repeated")
    options = made.parse_args(words)
    try:
        _run(options)
    except LocalspecError as failure:
        print(f"error: {failure.message}", file=sys.stderr)
        return failure.exit_code
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")
    return 0


def _run(options: argparse.Namespace) -> None:
    heads = read_checkpoint(options.checkpoint)
    check_fits(heads, options.target, options.checkpoint)
    if bool(options.ids) != bool(options.text):
        raise OptionError("--ids and --text go together")
    if options.ids:
        heads = reduced(heads, options.target, options.text, options.ids)
    how = Writing(options.type, options.type, licence="see the checkpoint")
    write_medusa(options.out, heads, options.target, how)


if __name__ == "__main__":
    sys.exit(main())
