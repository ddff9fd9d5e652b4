"""Hooks of the whole suite."""

from __future__ import annotations

import os
import shutil
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("storscope", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("storscope")  # how long an example takes is the machine's, and machines pause

# A shell that runs the suite in the background has it ignore Ctrl-C, and with it every command that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`needs(tool)`, `needs_root`: skips, visibly, where a program or right is absent; in CI that is a failure."""
    for marker in item.iter_markers("needs"):
        for tool in marker.args:
            if shutil.which(tool) is None:
                reason = f"needs the program {tool}, which is not installed"
                _skip(reason)
    if item.get_closest_marker("needs_root") and os.geteuid() != 0:
        _skip("needs root: it sets up loop devices and mounts")


def _skip(reason: str) -> None:
    if os.environ.get("STORSCOPE_TESTS_MUST_NOT_SKIP"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
