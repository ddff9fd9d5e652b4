"""What `import storscope` offers, before any of it is imported."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import storscope
from storscope.domain import errors


def _loaded(script: str) -> list[str]:
    """The modules that a program of its own has loaded at its end."""
    ended = f"{script}; import sys; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", ended], capture_output=True, text=True, check=True).stdout.split()


def test_everything_that_is_offered_is_there_and_is_listed() -> None:
    assert dir(storscope) == sorted(storscope.__all__)
    assert all(getattr(storscope, name) for name in storscope.__all__)


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'storscope' has no attribute 'simulat'"):
        storscope.simulat  # type: ignore[attr-defined]  # noqa: B018


def test_every_error_of_the_tree_is_offered() -> None:
    tree = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert {name: getattr(storscope, name, None) for name in tree} == tree
    assert set(tree) <= set(storscope.__all__)


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    """An import of the whole simulator would take a second."""
    assert [name for name in _loaded("import storscope") if name.startswith("storscope.")] == []
    caught = _loaded("import storscope; storscope.StorscopeError")
    assert [name for name in caught if name.startswith("storscope.")] == ["storscope.domain", "storscope.domain.errors"]
    assert not {"pyarrow", "numpy"} & set(caught)


def test_a_diagnosis_loads_neither_simulator_nor_load_generator() -> None:
    """They would take a tenth of a second to load."""
    loaded = _loaded("import storscope.workbench.diagnosing")
    assert "storscope.diagnose" in loaded
    assert not [name for name in loaded if name.startswith(("storscope.sim", "storscope.bench"))]


def test_a_type_checker_knows_what_is_offered_and_finds_a_slip(tmp_path: Path) -> None:
    known = tmp_path / "known.py"
    known.write_text(
        "import storscope\n"
        + "".join(f"storscope.{name}\n" for name in storscope.__all__)
        + "def ask(design: storscope.Design, load: storscope.Workloads) -> storscope.Simulated:\n"
        "    return storscope.simulate_each([design], load)[0]\n"
    )
    slip = tmp_path / "slip.py"
    slip.write_text("import storscope\nstorscope.simulat\n")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=",
         f"--cache-dir={tmp_path}", known, slip],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    (found, said) = checked.stdout.splitlines()
    assert found.startswith(f'{slip}:2: error: Module has no attribute "simulat"'), checked.stdout
    assert said.startswith("Found 1 error in 1 file")
