"""What `import storscope` offers, before any of it is imported."""

from __future__ import annotations

import subprocess
import sys

import storscope


def test_everything_that_is_offered_is_there_and_is_listed() -> None:
    assert dir(storscope) == sorted(storscope.__all__)
    assert all(getattr(storscope, name) for name in storscope.__all__)


def test_a_diagnosis_loads_neither_simulator_nor_load_generator() -> None:
    """They would take a tenth of a second to load."""
    script = "import storscope.workbench.diagnosing, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "storscope.diagnose" in loaded
    assert not [name for name in loaded if name.startswith(("storscope.sim", "storscope.bench"))]
