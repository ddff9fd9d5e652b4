"""What Python's libraries warn of does not go to a user's terminal, and does to a developer's."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = """
import sys
import numpy as np
from storscope.cli import main as cli
cli.run = lambda arguments: np.zeros(1) / np.zeros(1) is None
cli.main()
"""


@pytest.mark.parametrize(("options", "is_shown"), [((), False), (("-W", "default"), True)])
def test_numpys_warnings_are_shown_where_they_are_asked_for(options: tuple[str, ...], is_shown: bool) -> None:
    done = subprocess.run([sys.executable, *options, "-c", _SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert ("RuntimeWarning" in done.stderr) is is_shown
