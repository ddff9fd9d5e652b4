"""The rooms and arrows of ARCHITECTURE.md hold: no import upward, no circle, one crate that names pyo3."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "storscope"


def _drawn(words: str) -> dict[str, set[str]]:
    """The first arrows of ARCHITECTURE.md below a line that begins with these words: from -> to."""
    _, _, below = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition(f"\n{words}")
    drawing = next(block for block in below.split("```")[1::2] if "->" in block)
    arrows: dict[str, set[str]] = {}
    for line in drawing.strip().splitlines():
        begin, _, end = re.sub(r"^L\d", "", line).partition("->")
        ends = {name.strip() for name in end.split(",")} - {"nothing"}
        for name in begin.split(","):
            assert not ends & arrows.keys(), f"{line}: an arrow points up"
            arrows[name.strip()] = ends
    assert set().union(*arrows.values()) <= arrows.keys()
    return arrows


ALLOWED = _drawn("Arrows point down only.")
"""Room -> rooms it may import."""
CRATES = _drawn("The same test holds their arrows:")

ROOT_MODULES = {"__init__", "__main__"}


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute here"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "storscope" and len(parts) > 1 else None


def _files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py"))


def _room_of_file(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _module_name(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("file", _files(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_room_may(file: Path) -> None:
    room = _room_of_file(file)
    if room in ROOT_MODULES:
        return
    assert room in ALLOWED, f"{file}: a new room needs its arrows in ARCHITECTURE.md and here"
    for module in _imports(file):
        target = _room_of(module)
        if target in {None, room, "__version__"}:
            continue
        assert target in ALLOWED[room], f"{file} imports {module}: {room} may import {sorted(ALLOWED[room])}"


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_module_follows_each_arrow_that_is_drawn(room: str) -> None:
    files = [file for file in _files() if _room_of_file(file) == room]
    assert ALLOWED[room] <= {_room_of(module) for file in files for module in _imports(file)}


def test_no_importer_knows_another() -> None:
    importers = PACKAGE / "sources" / "importers"
    public = {file.stem for file in importers.glob("[a-z]*.py")}
    for file in importers.glob("*.py"):
        named = {module.rsplit(".", 1)[-1] for module in _imports(file) if ".sources.importers." in module}
        assert not (named & public), f"{file} imports another importer; put what they share in a _module"


def test_no_collector_knows_an_importer() -> None:
    for file in (PACKAGE / "sources" / "collectors").glob("*.py"):
        named = {module for module in _imports(file) if ".sources.importers" in module}
        assert not named, f"{file} imports {named}; put what they share in the domain"


def test_there_is_no_circle_between_modules() -> None:
    names = {_module_name(file) for file in _files()}
    graph = {
        _module_name(file): {module for module in _imports(file) if module in names and module != _module_name(file)}
        for file in _files()
    }
    # A package's own __init__ gathers its modules; that they import siblings through it is the only harmless circle.
    for package in [name for name in graph if any(other.startswith(f"{name}.") for other in names)]:
        for members in graph.values():
            members.discard(package)
    assert list(TopologicalSorter(graph).static_order())


_OUTSIDE = {"io", "os", "pathlib", "random", "shutil", "socket", "subprocess", "tempfile", "time"}
"""Modules of files, other programs, chance and the clock."""


def test_the_domain_opens_no_file_and_looks_at_no_clock() -> None:
    for file in (PACKAGE / "domain").rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "open"], file
        assert not [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "now"], file
        assert not {module.split(".")[0] for module in _imports(file)} & _OUTSIDE, file


def _manifests() -> dict[str, dict[str, dict[str, object]]]:
    """Crate, without storscope- -> its manifest."""
    return {
        manifest.parent.name.removeprefix("storscope-"): tomllib.loads(manifest.read_text(encoding="utf-8"))
        for manifest in (ROOT / "crates").glob("*/Cargo.toml")
    }


def test_crates_depend_on_each_other_as_drawn() -> None:
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    found = {
        crate: {name for kind in kinds for name in manifest.get(kind, {}) if name.startswith("storscope-")}
        for crate, manifest in _manifests().items()
    }
    assert found == {crate: {f"storscope-{other}" for other in others} for crate, others in CRATES.items()}


def test_one_crate_names_pyo3() -> None:
    assert [crate for crate, manifest in _manifests().items() if "pyo3" in manifest["dependencies"]] == ["py"]
