"""A share of its target that a fio job asks for is one of the volume, which a simulation knows."""

from __future__ import annotations

from pathlib import Path

import pytest

import storscope
from storscope.bench.workloads.load import read_definition
from storscope.cli.main import run
from storscope.domain.load import Region
from storscope.domain.units import GIB, MIB
from storscope.workbench.simulating_many import plan_of
from tests.sim.designs import SMALL

_JOB = "[j]\nrw=randread\nbs=4k\niodepth=4\nioengine=libaio\ndirect=1\n{}\n"


def _region(options: str, volume: str = "log") -> Region:
    (stream,) = plan_of(SMALL, {volume: _JOB.format(options)}).workload.streams
    return stream.region


@pytest.mark.parametrize(
    ("options", "region"),
    [
        ("size=10%", Region(0, GIB)),
        ("offset=20%\nsize=30%", Region(2 * GIB, 3 * GIB)),
        ("offset=90%\nsize=30%", Region(9 * GIB, GIB)),
        ("offset=5g\nsize=20%", Region(5 * GIB, 2 * GIB)),
        ("offset=50%", Region(5 * GIB, None)),
        ("size=100%", Region()),
    ],
)
def test_a_share_is_one_of_the_volume(options: str, region: Region) -> None:
    assert _region(options) == region
    assert _region("size=10%", "data") == Region(0, 20 * GIB)


def test_it_is_simulated_as_the_same_part_in_bytes_is() -> None:
    """The full stroke was, which is slower, with exit code 0."""
    found = [
        storscope.simulate_each([SMALL], {"esx1/data": _JOB.format(size)}, duration=20)[0].judgement.estimates["iops"]
        for size in ("size=10%", "size=20g", "size=200g")
    ]
    assert found[0] == found[1]
    assert found[0].value > 1.05 * found[2].value


def test_volumes_that_are_not_equally_large_are_refused_with_both_ways_out(tmp_path: Path) -> None:
    with pytest.raises(storscope.InputError) as raised:
        storscope.simulate(SMALL, _JOB.format("size=10%"))
    assert "[j] line 7: expected a size in bytes" in str(raised.value)
    assert "not equally large (10 GiB and 200 GiB), found '10%'" in str(raised.value)
    assert "--workload VOLUME=FILE" in str(raised.value)
    with pytest.raises(storscope.InputError, match="expected whole per cent from 0 to 100 for size, found '150%'"):
        _region("size=150%")
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "j.fio").write_text(_JOB.format("size=10%"))
    asked = ["simulate", str(tmp_path / "small.toml"), "--store", str(tmp_path / "s"), "--duration", "2s"]
    assert run([*asked, "--workload", str(tmp_path / "j.fio")]) == 2
    assert run([*asked, "--workload", f"log={tmp_path / 'j.fio'}"]) == 0
    assert run([*asked, "--workload", f"log={tmp_path / 'j.fio'}", "--sweep"]) == 0


def test_the_parts_of_jobs_that_begin_apart_are_shares_too() -> None:
    """fio's numjobs with offset_increment: two jobs, each with its half."""
    (stream,) = plan_of(SMALL, {"log": "[j]\nrw=read\nnumjobs=2\noffset_increment=50%\nsize=50%\n"}).workload.streams
    assert (stream.region, stream.workers) == (Region(), 2)


def test_where_the_target_is_not_known_it_is_lost_as_before() -> None:
    (lost,) = [str(one) for one in read_definition(_JOB.format("size=10%"), "j.fio").losses if "size=10%" in str(one)]
    assert lost.startswith("lost: [j] line 7: size=10%: a share of a target whose size is not known here")


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ("bs=4k", 26_845_184),
        ("bs=8k", 26_845_184),
        ("bs=64k", 26_869_760),
        ("bssplit=64k/50:4k/50", 26_845_184),
        ("bs=64k,4k", 26_845_184),
        ("bsrange=512-500k", 26_843_648),  # a hundred sizes stand for these, of which none is the least
        ("bsrange=5k-1m", 26_844_160),
    ],
)
def test_an_offset_begins_with_a_whole_block_where_fio_has_it(options: str, start: int) -> None:
    """The first offset that fio 3.33 logs (write_iolog) with rw=read on a file of 256 MiB."""
    text = f"[j]\nrw=read\n{options}\nsize=33%\noffset=10%\n"
    (stream,) = read_definition(text, "j.fio", [256 * MIB]).workloads[0].streams
    assert stream.region.start_bytes == start


def test_bench_measures_the_share_of_what_it_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, job = tmp_path / "data", tmp_path / "j.fio"
    data.mkdir()
    (data / "file").write_bytes(bytes(4 * MIB))
    (data / "other").write_bytes(bytes(8 * MIB))
    job.write_text(_JOB.format("offset=25%\nsize=50%"))
    asked = ["bench", "--workload", str(job), "--store", str(tmp_path / "s"), "--dry-run", "--duration", "1s"]

    def said(*words: str) -> str:
        assert run([*asked[:1], *words, *asked[1:]]) == 0
        out, err = capsys.readouterr()
        return f"{out} {err}"

    assert "from 1 MiB, 2 MiB long" in said(str(data / "file"))
    assert "from 512 KiB, 1 MiB long" in said(str(data / "file"), "--size", "2M")
    assert "from 4 MiB, 8 MiB long" in said(str(data), "--size", "16M")
    assert "from 1 MiB, 2 MiB long" not in said(str(data / "file"), str(data / "other"))
    assert "a share of a target whose size is not known here" in said(str(data))
    assert "a share of a target" not in said(str(data / "file"), "--sweep")
