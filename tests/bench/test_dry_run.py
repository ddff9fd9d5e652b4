"""A dry run of measurements tells the time to fill files and which I/Os do not suit O_DIRECT."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from storscope.bench import direct_blocks
from storscope.bench.direct_blocks import DirectBlock
from storscope.cli.main import run
from storscope.store import Store

_SWEEP = ("--sweep", "sizes=512,4k", "modes=randread")


@pytest.fixture
def large_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_blocks, "direct_block", lambda targets: DirectBlock(4096, "sdx", is_strict=True))


def _said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(["bench", *arguments, "--dry-run"])
    return code, capsys.readouterr().out


def test_the_time_to_fill_a_scratch_file_is_told(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = _said(capsys, str(data), *_SWEEP, "--size", "200M", "--buffered")
    assert "2 measurements of 10 s, about 20 s in all:" in said
    assert "Before that the scratch file would be filled, 200 MiB: at 100 MB/s that takes 2.10 s." in said


def test_what_exists_is_not_filled(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "one").write_bytes(os.urandom(2 * 1024**2))
    code, said = _said(capsys, str(data / "one"), *_SWEEP, "--buffered")
    assert code == 0
    assert "Before that" not in said


_REGION = """
name = "far"
[[stream]]
name = "only"
outstanding = 1
region = { start = "8m", length = "8m" }
[[stream.line]]
size = "4k"
read_share = 0.5
"""


def _refused_alike(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a dry run and a run say when both refuse for the same reason."""
    errors = []
    for dry in ((), ("--dry-run",)):
        assert run(["bench", *arguments, *dry]) == 2
        errors.append(capsys.readouterr().err)
    assert errors[0].splitlines() == errors[1].splitlines()
    return errors[1]


@pytest.fixture
def small(data: Path) -> tuple[str, ...]:
    """A file of 1 MiB, with the word that allows to overwrite it, and a store."""
    (data / "small").write_bytes(os.urandom(1024**2))
    word = f"{data / 'small'}:{1024**2}"
    return (str(data / "small"), "--overwrite", word, "--buffered", "--store", str(data.parent / "store"))


def test_regions_that_do_not_fit_on_a_file_are_refused_as_by_the_run(
    data: Path, small: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "far.toml").write_text(_REGION)
    said = _refused_alike(capsys, *small, "--workload", str(data / "far.toml"))
    assert "expected at least 16 MiB" in said
    assert "found 1 MiB" in said


@pytest.mark.parametrize("what", [("--workload", "oltp"), ("--workload", "oltp", "--knee"), _SWEEP])
def test_a_part_larger_than_the_file_is_refused_as_by_the_run(
    small: tuple[str, ...], what: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    said = _refused_alike(capsys, small[0], *what, *small[1:], "--size", "5M")
    assert "expected --size of at most 1 MiB, as large as it is, found 5 MiB" in said


def test_a_part_that_ends_before_a_region_is_refused_as_by_the_run(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "far.toml").write_text(_REGION.replace(', length = "8m"', ""))
    (data / "file").write_bytes(os.urandom(16 * 1024**2))
    arguments = [str(data / "file"), "--workload", str(data / "far.toml"), "--size", "4M", "--buffered"]
    arguments += ["--overwrite", f"{data / 'file'}:{16 * 1024**2}", "--store", str(data.parent / "store")]
    assert "room for one transfer of 'far', 8.00 MiB, found 4 MiB" in _refused_alike(capsys, *arguments)


_BURSTS = """
name = "bursts"
[[stream]]
rate_per_s = 10
max_outstanding = 8192
[[stream.line]]
size = "1m"
read_share = 0
"""


# A search has room for 256 MiB in flight, whatever the workload's own has; a buffer more is for reads.
@pytest.mark.parametrize(("what", "size"), [((), "65 MiB"), (("--knee",), "257 MiB")])
def test_what_is_in_flight_is_told_in_memory(
    data: Path, what: tuple[str, ...], size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "bursts.toml").write_text(_BURSTS.replace("8192", "64"))
    code, said = _said(capsys, str(data), "--workload", str(data / "bursts.toml"), *what, "--size", "16M", "--buffered")
    assert code == 0
    assert f"The data of I/Os in flight would take {size} of memory." in said


@pytest.mark.parametrize("what", [(), ("--knee",)])
def test_more_in_flight_than_memory_takes_is_refused_before_a_file_is_made(
    data: Path, what: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "bursts.toml").write_text(_BURSTS)
    store = ("--store", str(data.parent / "store"))
    said = _refused_alike(capsys, str(data), "--workload", str(data / "bursts.toml"), *what, "--size", "16M", *store)
    assert "expected queues and transfers whose buffers fit into" in said
    assert "found 8,193 MiB of them" in said
    assert "Filling" not in said


def test_a_worker_with_more_in_flight_on_its_targets_than_a_ring_holds_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "deep.toml").write_text('name = "deep"\n[[stream]]\noutstanding = 16385\n[[stream.line]]\nsize = "4k"\n')
    store = ("--store", str(data.parent / "store"))
    two = (str(data / "one"), str(data / "two"))
    said = _refused_alike(capsys, *two, "--workload", str(data / "deep.toml"), "--size", "16M", *store)
    assert "expected at most 32,768 I/Os per worker on all targets, found 16,385 on each of 2" in said


def test_a_point_that_memory_has_no_room_for_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axes = ("--sweep", "sizes=1m", "modes=randwrite", "depth=1,8192")
    code, said = _said(capsys, str(data), *axes, "--size", "16M", "--buffered")
    assert code == 2
    (deep,) = [line for line in said.splitlines() if "depth 8192" in line]
    (shallow,) = [line for line in said.splitlines() if line.endswith("depth 1")]
    assert "(would fail: expected queues and transfers whose buffers fit into" in deep
    assert "fail" not in shallow


@pytest.mark.usefixtures("large_blocks")
def test_points_that_o_direct_would_refuse_are_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = _said(capsys, str(data), *_SWEEP, "--size", "16M")
    assert code == 2
    (small,) = [line for line in said.splitlines() if "randread, 512 B" in line]
    (large,) = [line for line in said.splitlines() if "randread, 4 KiB" in line]
    assert small.endswith("(would fail: 512 B on blocks of 4 KiB)")
    assert large.endswith("depth 1")
    assert "must be multiples of 4 KiB, the block of sdx: 1 of 2 would fail. Choose such ones, or --buffered." in said


@pytest.mark.usefixtures("large_blocks")
def test_through_the_page_cache_any_size_will_do(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = _said(capsys, str(data), *_SWEEP, "--size", "16M", "--buffered")
    assert code == 0
    assert "O_DIRECT" not in said


@pytest.mark.usefixtures("large_blocks")
def test_a_single_measurement_is_checked_too(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = _said(capsys, str(data), "--workload", "oltp", "--size", "16M")
    assert code == 0
    assert "Sizes and offsets suit O_DIRECT: multiples of 4 KiB, the block of sdx." in said


def test_where_the_block_is_not_known_nothing_is_said_to_fail_for_certain(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_blocks, "direct_block", lambda targets: DirectBlock(4096, None, is_strict=False))
    code, said = _said(capsys, str(data), *_SWEEP, "--size", "16M")
    assert code == 0
    assert "1 of 2 may fail, or go through the page cache." in said
    assert "not known here; 4 KiB suits nearly every device" in said


@pytest.mark.parametrize("what", [("--workload", "oltp"), ("--workload", "oltp", "--knee"), _SWEEP])
@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("file/store", "expected a place for a new store, found Not a directory"),
        ("others", "expected an empty or new directory for the store"),
        ("newer", "expected a store of schema version"),
        ("damaged", "expected a JSON object with schema_version"),
    ],
)
def test_a_place_where_no_store_can_be_is_refused_as_by_the_run(
    data: Path, what: tuple[str, ...], store: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (data.parent / "file").touch()
    for name, content in {"newer": '{"schema_version": 999}', "damaged": "{"}.items():
        (data.parent / name).mkdir()
        (data.parent / name / "storscope-store.json").write_text(content)
    (data.parent / "others").mkdir()
    (data.parent / "others" / "letters.txt").touch()
    assert words in _refused_alike(capsys, str(data), *what, "--size", "16M", "--store", str(data.parent / store))
    assert not list(data.iterdir())


@pytest.mark.needs("setpriv")
@pytest.mark.parametrize("is_store", [True, False])
def test_a_store_that_may_not_be_written_is_refused_before_a_file_is_filled(data: Path, is_store: bool) -> None:
    folder = data.parent / "store"
    if is_store:
        Store.open(folder, create=True)
    folder.mkdir(exist_ok=True)
    folder.chmod(0o555)
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*without, sys.executable, "-m", "storscope", "bench", str(data), "--workload", "oltp", "--size", "16M"]
    said = []
    for dry in ((), ("--dry-run",)):
        done = subprocess.run([*command, "--store", str(folder), *dry], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        said.append((done.stdout, done.stderr))
    assert said[0] == said[1]
    expected = "a store that can be written to" if is_store else "a place for a new store"
    assert f"error: {folder}: expected {expected}, found Permission denied." in said[0][1]
    assert "Filling" not in said[0][1]


_THINKING = """
name = "thinking"
[[stream]]
outstanding = 4
think_time = "5ms"
[[stream.line]]
size = "4k"
random_share = 0
"""


@pytest.mark.needs("fio")
def test_pauses_that_fio_cannot_make_are_refused_as_by_the_run(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "thinking.toml").write_text(_THINKING)
    fio = [str(data), "--workload", str(data / "thinking.toml"), "--engine", "fio", "--size", "16M"]
    said = _refused_alike(capsys, *fio, "--store", str(data.parent / "store"))
    assert "streams[0].think_time: expected pauses that fio can make" in said
    assert "Filling" not in said
    code, points = _said(capsys, *fio, "--sweep", "depth=1,4")
    assert code == 2
    assert "depth 4 (would fail: expected pauses that fio can make" in points
    assert "depth 1\n" in points


def test_an_engine_that_is_not_there_is_told_as_by_the_run(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(data))
    store = ("--store", str(data.parent / "store"))
    said = _refused_alike(capsys, str(data), "--workload", "oltp", "--engine", "fio", *store)
    assert "expected the program fio, found none in the search path" in said


def test_a_second_word_is_refused_and_does_not_take_the_place_of_the_first(
    small: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """With the last one alone each of two targets was refused in turn, for want of the word that was typed first."""
    said = _refused_alike(capsys, *small, "--workload", "log", "--overwrite", "/another:8")
    assert "expected one --overwrite, for one target, found 2" in said


@pytest.fixture
def two(data: Path) -> tuple[list[Path], list[str], list[str]]:
    """Two files with content, the words that allow to overwrite them, and how both are measured with writes."""
    files = [data / "one", data / "two"]
    for file in files:
        file.write_bytes(os.urandom(1024**2))
    options = ["--workload", "log", "--buffered", "--duration", "0.2s", "--store", str(data.parent / "store")]
    return files, [f"{file}:{1024**2}" for file in files], [*map(str, files), *options]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_two_targets_with_content_are_overwritten_where_each_has_its_word(
    two: tuple[list[Path], list[str], list[str]], order: tuple[int, int], how: tuple[str, ...]
) -> None:
    files, words, arguments = two
    before = [file.read_bytes() for file in files]
    assert run(["bench", *arguments, *(f"--overwrite={words[index]}" for index in order), *how]) == 0
    assert [file.read_bytes() != old for file, old in zip(files, before, strict=True)] == [not how] * 2


@pytest.mark.parametrize(("typed", "said"), [
    ((), "repeat the file's full path and size"),
    ((0,), "repeat the file's full path and size"),
    ((1,), "repeat the file's full path and size"),
    ((0, 0), "expected words that differ"),
    ((0, 2), "expected with --overwrite what identifies one of the targets"),
    ((0, 1, 2), "expected at most one --overwrite for each of the targets, found 3"),
])  # fmt: skip
def test_without_the_word_of_each_nothing_is_written(
    two: tuple[list[Path], list[str], list[str]],
    typed: tuple[int, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files, words, arguments = two
    before = [file.read_bytes() for file in files]
    given = [f"--overwrite={[*words, '/else:8'][index]}" for index in typed]
    for how in ((), ("--dry-run",)):
        assert run(["bench", *arguments, *given, *how]) == 2
        captured = capsys.readouterr()
        assert said in captured.out + captured.err
    assert [file.read_bytes() for file in files] == before


def test_beside_a_target_that_needs_no_word_that_of_another_object_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was ignored: the run wrote to the two that stood there, though a third one was meant."""
    for name in ("one", "two"):
        (data / name).touch()
    names = [str(data / name) for name in ("one", "two")]
    said = _refused_alike(capsys, *names, "--workload", "log", "--overwrite", "/else:8")
    assert "found --overwrite '/else:8'" in said
