"""A module imports only from rooms above its own, and each outside library has its doors."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = (
    *("errors", "core", "engine", "drafters", "pairs", "runtime", "measure", "chat", "report"),
    *("ui", "cli", "demo"),
)
DOORS = {
    "llama_cpp": ("localspec/engine/",),
    "huggingface_hub": ("localspec/pairs/hub.py",),
    "rich": ("localspec/ui/",),
    "prompt_toolkit": ("localspec/ui/",),
    "typer": ("localspec/cli/",),
    "psutil": ("localspec/measure/",),
    "jinja2": ("localspec/report/", "localspec/engine/template"),
    "matplotlib": ("localspec/report/",),
}
STANDARD = sys.stdlib_module_names
MODULES = sorted((ROOT / "localspec").rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {_name(path) for path in MODULES}


def _imports(source: str) -> set[str]:
    """Give every module imported anywhere in a source; a name from a package as its module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & NAMES
            found |= inner or {node.module or "."}
            assert node.level == 0, "imports are absolute"
    return found


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "localspec"


def _breaches(name: str, path: str, source: str) -> list[str]:
    """Name every import of a module that the table forbids."""
    said, own = [], _room(name)
    place = ROOMS.index(own) if own in ROOMS else len(ROOMS)
    for module in _imports(source):
        top = module.split(".")[0]
        if top == "localspec" and module != "localspec" and ROOMS.index(_room(module)) > place:
            said.append(f"{name} imports {module}, a room below its own")
        if top in DOORS and not path.startswith(DOORS[top]):
            said.append(f"{name} imports {top}, whose doors are {DOORS[top]}")
        if own in ("errors", "core") and top not in {*STANDARD, "localspec", "numpy"}:
            said.append(f"{name} imports {top}; the core knows numpy only")
    return said


def test_every_room_is_in_the_table() -> None:
    found = {_room(name) for name in NAMES} - {"localspec", "__main__"}
    assert found <= set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_go_up_the_table_and_through_the_doors(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    assert _breaches(_name(path), place, path.read_text(encoding="utf-8")) == []


def test_no_two_modules_import_each_other() -> None:
    graph = {}
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):  # imports for the type checker alone make no circle
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = [ast.Pass()]
        graph[_name(path)] = (_imports(ast.unparse(tree)) & NAMES) - {_name(path)}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("localspec.core.rules", "from localspec.engine import model"),
        ("localspec.core.rules", "def f():\n    import scipy.stats"),
        ("localspec.chat.text", "import llama_cpp.llama_cpp as low"),
        ("localspec.pairs.catalogue", "from huggingface_hub import hf_hub_download"),
        ("localspec.measure.bench", "import localspec.ui.tables"),
    ],
)
def test_a_breach_is_seen(name: str, source: str) -> None:
    assert _breaches(name, name.replace(".", "/") + ".py", source)
