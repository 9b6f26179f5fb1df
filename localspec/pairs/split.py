"""Names of model files: the parts of a split file, and the layout a name speaks of.

Knows names only.
"""

import re

SPLIT_NAME = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
QUANT_NAME = re.compile(
    r"(?:^|[-._])((?:UD-|I-|i1-)?(?:IQ|TQ|Q|MXFP|NVFP|BF|F)\d[A-Z0-9_]*)(?:-\d{5}-of-\d{5})?\.gguf$",
    re.IGNORECASE,
)
# Files that lie beside models and are none: projectors, heads, calibration data.
BESIDE = re.compile(r"(^|/|[-_.])(mmproj|imatrix|eagle3|mtp|dflash|dspark|medusa)([-_.]|$)", re.I)


def part_names(name: str) -> tuple[str, ...]:
    """Give the names of all parts of a file, or its own name."""
    match = SPLIT_NAME.search(name)
    if match is None:
        return (name,)
    stem, count = name[: match.start()], int(match[2])
    return tuple(f"{stem}-{part:05}-of-{count:05}.gguf" for part in range(1, count + 1))


def is_later_part(name: str) -> bool:
    """Tell whether a name is a second or later part."""
    match = SPLIT_NAME.search(name)
    return match is not None and int(match[1]) > 1


def quant_of(name: str) -> str:
    """Give the layout a file's name speaks of, or an empty text; UD-Q4_K_M is not Q4_K_M."""
    match = QUANT_NAME.search(name)
    return match[1].upper() if match else ""


def is_model(name: str) -> bool:
    """Tell whether a name looks like a model of its own, and is the first of its parts."""
    lower = name.lower()
    return lower.endswith(".gguf") and not BESIDE.search(lower) and not is_later_part(name)
