"""`storscope fit drive`: from files and from a store to a table that `simulate` takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storscope.cli.main import run
from storscope.sim.design import read_design
from storscope.store import Store
from tests.sim.fit_evidence import joined, results_table, textbook_trace

READS, WRITES = {1: 60.0, 16: 95.0}, {1: 140.0}


def _design_with(table: str, drive: str) -> str:
    return (
        f'name = "d"\n{table}\n[[group]]\nname = "g"\ndrive = "{drive}"\ncount = 2\nlayout = "raid1"\n'
        'segment = "64 KiB"\n[[volume]]\nname = "v"\ngroup = "g"\nsize = "1 GiB"\n'
        '[[host]]\nname = "h"\nvolumes = [{ volume = "v" }]\n'
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(results_table(READS, WRITES))
    return path


def test_a_trace_becomes_a_drive_that_designs_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, output = tmp_path / "drive.trace", tmp_path / "drive.toml"
    trace.write_text(textbook_trace(1_000))
    assert run(["fit", "drive", str(trace), "--name", "old", "--size", "9g", "-o", str(output)]) == 0
    said = capsys.readouterr().out
    for words in ("held back", "distance", "parameters: 12", "The data do not determine: ", "write_settle"):
        assert words in said
    design = read_design(_design_with(output.read_text(), "old"), "design.toml")
    assert design.form["drives"]["old"]["size_bytes"] == 9 * 1024**3


def test_a_drive_of_a_trace_holds_the_trace_with_the_default_segment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "drive.trace"
    trace.write_text(textbook_trace(1_000) + "R Hit 8000001 7 9000.0 100.0\n")
    assert run(["fit", "drive", str(trace), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    size = form["design"]["size_bytes"]
    assert size % 1024**2 == 0
    assert 0 <= size - 8_000_008 * 512 < 1024**2
    assert any("rounded up to whole MiB" in note for note in form["notes"])
    assert any("largest request has 4 KiB" in note and "extrapolated" in note for note in form["notes"])
    design = _design_with(form["toml"], "fitted").replace('segment = "64 KiB"\n', "")
    read_design(design.replace('size = "1 GiB"', f'size = "{size} B"'), "design.toml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--size", "1"], "--size: expected at least the 4,09"),
        (["--block", "4k"], "expected throughput by queue depth, for --block, found a trace"),
        (["--span", "10%", "--only", "a"], "for --only, --span, found a trace"),
    ],
)
def test_what_a_trace_tells_itself_is_not_taken(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "drive.trace"
    trace.write_text(textbook_trace(1_000))
    assert run(["fit", "drive", str(trace), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_place_where_no_file_can_be_is_told(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = table.parent / "none" / "drive.toml"
    assert run(["fit", "drive", str(table), "--size", "500g", "-o", str(output)]) == 2
    assert f"error: {output.parent}: expected a folder that exists, found none" in capsys.readouterr().err


def test_a_table_of_results_becomes_a_drive(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "drive", str(table), "--size", "500g"]) == 0
    said = capsys.readouterr()
    assert read_design(_design_with(said.out, "fitted"), "design.toml").form["drives"]["fitted"]["kind"] == "mechanical"
    for words in ("depth 16", "left out", "off by", "like `7200-sata` by its rate", "see --span"):
        assert words in said.err


def test_json_has_all_of_it(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "drive", str(table), "--curve", "--size", "500g", "--name", "c", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["design"]["reads"] == [{"qd": 1, "iops": 60.0}, {"qd": 16, "iops": 95.0}]
    assert [point["qd"] for point in form["reads"]] == [1, 16]
    assert form["toml"].count("[drives.c]") == 1
    assert form["evidence"] == [str(table)]


def test_a_curve_with_writes_that_a_cache_took_says_what_it_is_not_for(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four mirrored drives made 290 such writes a second one at a time; four curves of one drive make 99."""
    warning = "so a cache takes them"
    command = ["--size", "500g", "--json"]
    assert run(["fit", "drive", str(table), "--curve", *command]) == 0
    (note,) = (one for one in json.loads(capsys.readouterr().out)["notes"] if warning in one)
    assert note.endswith("Without --curve the drive has a cache.")
    slow = tmp_path / "slow.csv"
    slow.write_text(results_table({1: 60.0}, {1: 65.0}, "slow"))
    for without in (["--curve", str(slow)], [str(table)]):
        assert run(["fit", "drive", *without, *command]) == 0
        assert warning not in capsys.readouterr().out


FLASH_READS = {1: 16_500.0, 2: 29_000.0, 4: 40_000.0, 8: 50_000.0, 16: 58_000.0}


@pytest.mark.parametrize(
    ("writes", "amplification", "note"),
    [
        ({1: 7_000.0, 8: 7_100.0}, 5.4, None),
        (
            {1: 36_000.0, 8: 40_000.0},
            1.0,
            "Writes are quicker than a drive like `nvme-ssd` could make them, which moves 4.4 pages",
        ),
        ({1: 19_000.0, 4: 27_000.0, 32: 84_000.0}, 1.0, "The fitted drive writes otherwise than measured: off by "),
    ],
)
def test_flash_that_writes_more_quickly_than_it_could_clean_is_fitted_without_cleaning(
    writes: dict[int, float], amplification: float, note: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quick drive with few dies: the class's amplification alone kept it at a tenth of what was measured."""
    path = tmp_path / "flash.csv"
    path.write_text(results_table(FLASH_READS, writes, "flash"))
    assert run(["fit", "drive", str(path), "--size", "500g", "--span", "1%", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["design"]["write_amplification"] == amplification
    off = [abs(one["fitted_per_s"] / one["measured_per_s"] - 1) for one in form["writes"]]
    assert note is None or any(one.startswith(note) for one in form["notes"])
    assert (sum(off) / len(off) > 0.25) == any("otherwise than measured" in one for one in form["notes"])
    assert any("Writes are quicker" in one for one in form["notes"]) == (amplification == 1.0)
    assert not any("seeks are fitted" in one for one in form["notes"])


def test_a_curve_of_flash_has_no_cache_that_is_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "flash.csv"
    path.write_text(results_table(FLASH_READS, {1: 40_000.0}, "flash"))
    assert run(["fit", "drive", str(path), "--size", "500g", "--curve", "--json"]) == 0
    assert not any("a cache takes them" in note for note in json.loads(capsys.readouterr().out)["notes"])


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("1t", "The size is 1 TiB, in binary units. A drive sold as 1 TB has about 931.3 GiB"),
        ("1024g", "for one say --size 931.3g."),
        ("500g", "A drive sold as 500 GB has about 465.7 GiB"),
        ("3.84T", "A drive sold as 3.84 TB has about 3576 GiB"),
        ("74g", "for one say --size 68.92g."),
        ("931.5g", None),
        ("465g", None),
        ("1000204886016", None),
        ("1000000000000", None),
    ],
)
def test_a_binary_size_that_makers_sell_in_thousands_is_told(
    size: str, words: str | None, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", "drive", str(table), "--curve", "--json", "--size", size]) == 0
    told = [note for note in json.loads(capsys.readouterr().out)["notes"] if "makers count in thousands" in note]
    assert bool(told) == (words is not None)
    assert words is None or words in told[0]


def test_a_curve_of_platters_says_that_mirrors_gain_nothing_by_the_nearer_head(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four curves of the F1 make 16 to 19 % less at 8 to 32 outstanding than four mirrored drives (docs/drives.md)."""
    flash = tmp_path / "flash.csv"
    flash.write_text(results_table({1: 7_400.0}, {}, "flash"))
    warning = "mirrors that read the copy whose head is nearer"
    for evidence, more, is_told in ((table, ["--curve"], True), (flash, ["--curve"], False), (table, [], False)):
        assert run(["fit", "drive", str(evidence), *more, "--size", "465g", "--json"]) == 0
        assert (warning in capsys.readouterr().out) == is_told


def test_a_full_stroke_that_no_spread_shows_is_told(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With another full stroke the first tenth of the F1 would give a whole drive that is 12 % off (docs/fit.md)."""
    words = (
        "The full stroke is not fitted: over the average seek it is 1.60 (the mean of three drives that were measured"
    )
    spread = tmp_path / "spread.csv"
    header, first, *_ = results_table({1: 70.0}, {}, "drive").splitlines()
    spread.write_text(f"{header},lat_sd_ms\n{first},4.0\n")
    flash = tmp_path / "flash.csv"
    flash.write_text(results_table({1: 7_400.0}, {}, "flash"))
    for evidence, options, is_told in (
        (table, [], True),
        (table, ["--span", "10%"], True),
        (table, ["--curve"], False),
        (spread, [], False),
        (flash, [], False),
    ):
        assert run(["fit", "drive", str(evidence), *options, "--size", "465g", "--json"]) == 0
        assert (words in capsys.readouterr().out) == is_told, (evidence, options)


def test_a_drive_of_the_catalogue_keeps_its_own_full_stroke(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only a class, which stands for drives of many strokes, has the mean of those measured."""
    for like, ratio, words in (("samsung-f1-1tb", 1.55, "that of `samsung-f1-1tb`"), ("7200-sata", 1.6, "the mean of")):
        assert run(["fit", "drive", str(table), "--like", like, "--size", "931g", "--json"]) == 0
        form = json.loads(capsys.readouterr().out)
        seek = form["design"]["seek"]
        assert seek["full_stroke_ns"] / seek["average_ns"] == pytest.approx(ratio, abs=0.005)
        assert any(f"{ratio:.2f} ({words}" in note for note in form["notes"])


def test_that_writes_do_not_show_in_which_order_a_cache_is_written_back_is_told(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "slow.csv"
    slow.write_text(results_table({1: 70.0, 16: 105.0}, {1: 65.0}, "drive"))
    for evidence, options, is_told in (
        (table, [], True),
        (table, ["--curve"], False),
        (slow, ["--like", "fata"], False),
    ):
        assert run(["fit", "drive", str(evidence), *options, "--size", "465g"]) == 0
        said = capsys.readouterr()
        assert ("write_cache.order" in said.out + said.err) == is_told, (evidence, options)
        assert ("which order the window is written back they do not show" in said.out + said.err) == is_told


def test_all_depths_that_a_drive_does_not_sort_tell_its_mean_seek(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Depth 1 alone, rounded down or up to a whole number, would move the prediction of all by as much."""
    found = []
    for first in (72.0, 73.0):
        table = tmp_path / f"{first}.csv"
        table.write_text(results_table({1: first, 2: 73.0, 4: 73.0, 8: 85.0, 16: 108.0, 32: 128.0}, {}, "drive"))
        assert run(["fit", "drive", str(table), "--size", "931g", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["design"]["seek"]["average_ns"])
    assert found[0] - found[1] < 0.5 * 1e9 * (1 / 72 - 1 / 73)


def test_runs_of_a_store_become_a_drive(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "store")
    assert run(["import", str(table), "--store", store]) == 0
    capsys.readouterr()
    assert run(["fit", "drive", "--store", store, "--curve", "--size", "1t", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["evidence"] == [f"the store {store}"]
    assert form["design"]["writes"] == [{"qd": 1, "iops": 140.0}]


def test_of_several_drives_one_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.csv"
    drives = {"raptor": 124.0, "f1": 72.0}
    path.write_text(joined([results_table({1: rate}, {}, system) for system, rate in drives.items()]))
    command = ["fit", "drive", str(path), "--curve", "--size", "1t", "--json"]
    assert run(command) == 2
    said = capsys.readouterr().err
    assert "expected results of one drive, found 2" in said
    assert "'raptor'" in said
    assert "'f1'" in said
    assert run([*command, "--only", "raptor"]) == 0
    assert json.loads(capsys.readouterr().out)["design"]["reads"] == [{"qd": 1, "iops": 124.0}]


def test_where_several_drives_fit_those_are_named_and_the_whole_name_chooses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "many.csv"
    drives = {"crucial m4": 124.0, "crucial m4 256": 125.0} | {f"other {number}": 72.0 for number in range(20)}
    path.write_text(joined([results_table({1: rate}, {}, system) for system, rate in drives.items()]))
    command = ["fit", "drive", str(path), "--curve", "--size", "1t", "--json", "--only"]
    assert run([*command, "Crucial"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "found 2 that fit 'Crucial'" in said
    assert "'crucial m4'; 'crucial m4 256'." in said
    assert "other" not in said.partition("They are")[2]
    assert "Say --only with a part of a name that no other has, or with all of it." in said
    assert run([*command, "CRUCIAL M4"]) == 0
    assert json.loads(capsys.readouterr().out)["design"]["reads"] == [{"qd": 1, "iops": 124.0}]


@pytest.mark.parametrize("pattern", ["WD*", "*raptor", "wd ra?tor", "wd*[a]*"])
def test_a_pattern_chooses_as_workloads_are_given_volumes(
    pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.csv"
    drives = {"WD [a] raptor" if "[" in pattern else "WD Raptor": 124.0, "my WD": 72.0}
    path.write_text(joined([results_table({1: rate}, {}, system) for system, rate in drives.items()]))
    command = ["fit", "drive", str(path), "--curve", "--size", "1t", "--json", "--only"]
    assert run([*command, pattern]) == 0
    assert json.loads(capsys.readouterr().out)["design"]["reads"] == [{"qd": 1, "iops": 124.0}]
    assert run([*command, "raptor*"]) == 2
    assert "found 0 that fit 'raptor*'" in " ".join(capsys.readouterr().err.split())


def test_runs_with_many_workers_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(results_table({1: 60.0, 2: 61.0}, {}) + "drive,randread,4k,100,1,2,77\n")
    assert run(["fit", "drive", str(path), "--curve", "--size", "1t", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["design"]["reads"] == [{"qd": 1, "iops": 60.0}, {"qd": 2, "iops": 61.0}]
    assert "Left out, for more than one worker: 1 run." in form["notes"]


def test_a_depth_that_only_several_workers_kept_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a sweep over jobs, whose runs of one worker are all of depth 1."""
    path = tmp_path / "jobs.csv"
    jobs = [f"drive,randread,4k,100,1,{workers},{rate}\n" for workers, rate in ((2, 70), (4, 80))]
    path.write_text(results_table({1: 60.0}, {}) + "".join(jobs))
    assert run(["fit", "drive", str(path), "--curve", "--size", "1t", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["design"]["reads"] == [{"qd": 1, "iops": 60.0}, {"qd": 2, "iops": 70.0}, {"qd": 4, "iops": 80.0}]
    assert "Of several workers, as no run of one has as much outstanding: 2 runs." in form["notes"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("R Hit 100 8 5000.0 1.0\nR Hit 100 8 fast 1.0\n", ":2: expected microseconds"),
        (
            "R Hit 100 8 5000.0 1.0\n" * 10,
            "found 5.\n  Of the trace without the part that is held back to judge the fit, 50 %",
        ),
        ("R Hit 100 8 5000.0 1.0\n\x00\xff\n", ":2: expected"),
        ("nothing that anyone writes\n", "lines like: R Hit"),
        (results_table({}, WRITES), "random reads at one or more depths"),
        ("spec,block_bytes,read_pct,random_pct,iops\nmix,4096,70,100,900\n", "--sweep"),
    ],
)
def test_evidence_that_tells_nothing_is_named(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evidence"
    path.write_bytes(content.encode("latin-1"))
    assert run(["fit", "drive", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert str(path) in error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--held-back", "95%"], "at most 90 %"),
        (["--span", "0"], "above 0"),
        (["--name", "a b"], "letters, digits"),
        (["--like", "7201-sata"], "storscope simulate --drives"),
        (["--like", "sata-ssd", "--turns-per-min", "7200"], "platters"),
        (["--curve"], "--size"),
        (["--block", "1m"], "There are: 4 KiB"),
        (["--only", "elsewhere"], "'drive'"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: list[str], said: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", "drive", str(table), *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("is_of_store", [False, True])
def test_only_a_command_with_a_store_speaks_of_it_when_interrupted(
    is_of_store: bool, table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("storscope.workbench.fitting.fit_drive", interrupted)
    evidence = ["--store", str(Store.open(table.parent / "s", create=True).path)] if is_of_store else [str(table)]
    assert run(["fit", "drive", *evidence]) == 130
    assert ("store" in capsys.readouterr().err) == is_of_store
