"""A target that somebody truncates while it is measured is said to have shrunk."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from storscope.bench.figures import Outcome
from storscope.bench.shrinking import Sizes
from storscope.bench.targets import Ready
from storscope.cli.main import run
from storscope.domain.units import MIB

_READS = """
name = "reads"
[[stream]]
outstanding = 2
line = [{ size = "4k" }]
"""
_WENT_ON = Outcome({"valid": True}, ("Another doubt.",), None)


def test_a_read_beyond_the_end_of_a_truncated_file_says_so(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "reads.toml").write_text(_READS)
    target, store, is_over = data / "target", tmp_path / "store", threading.Event()
    target.write_bytes(os.urandom(16 * MIB))
    options = ["--workload", str(tmp_path / "reads.toml"), "--duration", "20s", "--store", str(store)]

    def cut() -> None:
        """As soon as an interval was measured."""
        while not any(spool.read_bytes().count(b"\n") > 1 for spool in store.glob(".bench-*.jsonl")):
            if is_over.wait(0.02):
                return
        os.truncate(target, MIB)

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        assert run(["bench", str(target), *options]) == 2
    finally:
        is_over.set()
        cutter.join()
    said = capsys.readouterr().err
    assert "bytes were transferred" in said
    assert f"{target} shrank during the run, from 16 MiB to 1 MiB: beyond its end there is nothing to read" in said


def test_only_what_is_smaller_than_before_shrank(tmp_path: Path) -> None:
    path = tmp_path / "target"
    path.write_bytes(bytes(3 * MIB))
    with path.open("rb") as file:
        sizes = Sizes([Ready(file.fileno(), "target", "file", True, ())])
        assert sizes.compare(_WENT_ON) is _WENT_ON
        os.truncate(path, 4 * MIB)
        assert sizes.compare(_WENT_ON) is _WENT_ON, "it grew"
        os.truncate(path, 3 * MIB - 1)
        (_, doubt) = sizes.compare(_WENT_ON).doubts
        assert doubt.startswith("target shrank during the run, from 3,145,728 bytes to 3,145,727 bytes: somebody else")
