"""Hooks of the whole suite."""

from __future__ import annotations

import os
import shutil

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`needs(tool)`: skips, visibly, where a program of the distribution is absent; in CI that is a failure."""
    for marker in item.iter_markers("needs"):
        for tool in marker.args:
            if shutil.which(tool) is None:
                reason = f"needs the program {tool}, which is not installed"
                if os.environ.get("STORSCOPE_TESTS_MUST_NOT_SKIP"):
                    pytest.fail(reason, pytrace=False)
                pytest.skip(reason)
