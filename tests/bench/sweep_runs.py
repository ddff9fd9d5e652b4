"""What tests of sweeps and of time series look at: what was printed as JSON, and what is in the store."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from storscope.store import Store


def printed_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Of the last command."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def runs_of(data: Path) -> list[dict[str, Any]]:
    """The runs in the store beside `data`, with their places in the sweep."""
    return Store.open(data.parent / "store").query(
        """SELECT run, status, name, seed, block_bytes, workers, outstanding, read_ratio, random_ratio,
                  parameters['sweep'] AS sweep, parameters['sweep_point'] AS point,
                  parameters['sweep_block']::INT AS block, parameters['sweep_order']::INT AS number,
                  parameters['sweep_seed'] AS sweep_seed
           FROM runs ORDER BY time"""
    ).to_pylist()  # fmt: skip


def wait_for_captures(data: Path, count: int) -> None:
    """Until so many are in the store beside `data`."""
    deadline = time.monotonic() + 120
    while len(list((data.parent / "store").glob("capture=*"))) < count:
        assert time.monotonic() < deadline, "no points were measured"
        time.sleep(0.02)
