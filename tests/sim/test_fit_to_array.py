"""The way from a drive's curve to an array that docs/fit.md shows: it runs as it stands, and gives what the page says.

What is known without the simulator: one read takes as long as on the drive alone, mirrors write as fast as half of the
drives, and a small write of RAID 5 is two reads and two writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from storscope.store import Store

_ROOT = Path(__file__).parents[2]
_SECTION = (_ROOT / "docs" / "fit.md").read_text(encoding="utf-8").partition("## From a drive's curve to an array\n")[2]
_DEPTHS = (1, 8, 32, 128)
_READS, _WRITES, _DRIVES = 72.0, 151.0, 8
"""Of the drive at depth 1, as the page's table has it, and how many there are."""
_RATES = """
SELECT name, sum(ops_per_s * o.duration_ns) / sum(o.duration_ns) AS iops
FROM observations o JOIN runs r USING (capture, run) WHERE kind = 'job' GROUP BY ALL
"""

Rates = dict[tuple[str, str, int], float]
"""By the store, the mode and the depth."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the block of the page was run, with `storscope` on the path."""
    folder = tmp_path_factory.mktemp("block")
    (folder / "examples").symlink_to(_ROOT / "examples")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "storscope").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m storscope "$@"\n')
    (programs / "storscope").chmod(0o755)
    (block,) = re.findall(r"```sh\n(.*?)```", _SECTION, re.DOTALL)
    found = {name: value for name, value in os.environ.items() if name != "STORSCOPE_STORE"}
    done = subprocess.run(
        ["/bin/sh", "-eu", "-c", block], cwd=folder, capture_output=True, text=True, check=False,
        env={**found, "PATH": f"{programs}:{found['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def rates(folder: Path) -> Rates:
    found: Rates = {}
    for store in ("raid10-100%", "raid10-372g", "raid5-100%", "raid5-372g"):
        for row in Store.open(folder / store).query(_RATES).to_pylist():
            mode, depth = row["name"].partition(",")[0], int(row["name"].rpartition(" ")[2])
            found[store, mode, depth] = row["iops"]
    return found


def test_the_table_of_the_page_is_what_its_block_gives(rates: Rates) -> None:
    assert len(rates) == 64
    arrays = [name.strip() for name in re.findall(r"^\| (RAID [^|]*)\| reads", _SECTION, re.MULTILINE)]
    assert arrays == ["RAID 10, all of it", "RAID 10, 372 GiB", "RAID 5, all of it", "RAID 5, 372 GiB"]
    rows = re.findall(r"^\| (?:RAID [^|]*)?\| (reads|writes) \|(.*)\|$", _SECTION, re.MULTILINE)
    for (direction, cells), (store, mode) in zip(
        rows, [(store, mode) for store in dict.fromkeys(key[0] for key in rates) for mode in ("randread", "randwrite")],
        strict=True,
    ):  # fmt: skip
        assert mode == f"rand{direction.removesuffix('s')}"
        said = [float(cell.replace(",", "")) for cell in cells.split("|")]
        assert said == [pytest.approx(rates[store, mode, depth], rel=0.01) for depth in _DEPTHS], (store, mode)


def test_one_read_takes_as_long_as_on_the_drive_alone(rates: Rates) -> None:
    for layout in ("raid10", "raid5"):
        assert rates[f"{layout}-100%", "randread", 1] == pytest.approx(_READS, rel=0.03)


def test_mirrors_write_as_fast_as_half_of_their_drives(rates: Rates) -> None:
    for depth in _DEPTHS:
        assert rates["raid10-100%", "randwrite", depth] == pytest.approx(_DRIVES / 2 * _WRITES, rel=0.03)


def test_a_small_write_of_raid_5_is_two_reads_and_two_writes(rates: Rates) -> None:
    """At 8 outstanding, two requests a drive, which is too few to sort."""
    limit = _DRIVES / (2 / _READS + 2 / _WRITES)
    assert rates["raid5-100%", "randwrite", 8] == pytest.approx(limit, rel=0.05)


def test_a_short_stroke_is_faster_and_shorter_where_data_lie_on_more_drives(rates: Rates) -> None:
    for layout in ("raid10", "raid5"):
        for mode in ("randread", "randwrite"):
            assert rates[f"{layout}-372g", mode, 32] > 1.4 * rates[f"{layout}-100%", mode, 32]
    assert rates["raid5-372g", "randread", 1] > rates["raid10-372g", "randread", 1]


def test_every_point_is_compared(folder: Path) -> None:
    said = (folder / "said").read_text()
    assert len(re.findall(r"^WORSE: ", said, re.MULTILINE)) == 2
    assert "NOT THE SAME LOAD" not in said
    assert all((folder / f"{name}.html").stat().st_size for name in ("raid10-100%", "raid5-372g"))
