"""Hooks of the whole suite."""

from __future__ import annotations

import os
import shutil
import signal

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("storscope", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("storscope")  # how long an example takes is the machine's, and machines pause

# A shell that runs the suite in the background has it ignore Ctrl-C, and with it every command that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without a terminal nothing is told to be 80 wide; readline says so to what the process that uses it starts: workers.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)

_DEVICES = ("tests/bench/safety/", "tests/bench/workloads/")
"""Where tests set up devices, or measure nothing, so that one worker may run them beside others."""
_MEASURES = ("tests/bench/", "tests/collectors/", "tests/cli/test_bench_json.py", "tests/cli/test_compare.py",
             "tests/report/test_run_page.py", "tests/test_bench_load.py", "tests/test_live_demo.py")  # fmt: skip
"""Where tests measure real storage: on a busy machine that is measured, too, and told as a doubt."""
_COMPUTES = tuple(f"tests/bench/test_{name}.py" for name in ("goals", "load_point", "paused_visits", "record_intervals",
                                                             "settling"))  # fmt: skip
"""Among these, what looks only at figures that it made: those that take long."""


@pytest.hookimpl(tryfirst=True)  # before -m chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs the machine to itself."""
    for item in items:
        if item.nodeid.startswith(_MEASURES) and not item.nodeid.startswith((*_DEVICES, *_COMPUTES)):
            item.add_marker("alone")


class _ByFile(LoadScopeScheduling):
    """Of several workers one sets up all devices; the others take the rest file by file."""

    def _split_scope(self, nodeid: str) -> str:
        return "devices" if nodeid.startswith(_DEVICES) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """How tests are given to the workers of `-n`."""
    return _ByFile(config, log)


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
