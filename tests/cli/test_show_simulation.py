"""What `storscope simulate` prints, as JSON and as pictures of the queues."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from storscope.cli.commands.simulate import command
from storscope.cli.main import run
from storscope.cli.show_queues import chosen_slices, folded
from storscope.domain.errors import NotAStore, UsageError
from storscope.domain.units import format_duration, format_instant, format_rate
from storscope.store import Store
from tests.sim.designs import SMALL

_DOCS = Path(__file__).parents[2] / "docs"
_SCHEDULE = '[[at]]\ntime = "2s"\ndrive_fails = { group = "g", index = 0 }\n'


def _run(path: Path, *options: str, schedule: str = "", design: str = SMALL, width: int = 100) -> Result:
    (path / "small.toml").write_text(design)
    (path / "s.toml").write_text(schedule)
    told = ["--schedule", str(path / "s.toml")] if schedule else []
    arguments = [str(path / "small.toml"), "--workload", "oltp", "--store", str(path / "store"), *told, *options]
    return CliRunner(env={"COLUMNS": str(width)}).invoke(command, arguments, standalone_mode=False)


def test_what_happened_and_what_did_nothing_stand_in_the_summary(tmp_path: Path) -> None:
    late = '[[at]]\ntime = "1h"\ndrive_fails = { group = "g", index = 1 }\n'
    text = _run(tmp_path, "--duration", "6s", schedule=_SCHEDULE + late).stdout
    assert re.search(r"2\.00 s +drive g/0 fails; there is no spare", text)
    assert re.search(r"1 h 00 min +drive g/1 fails: nothing happened, since the run ended at 6\.00 s", text)
    assert re.search(r"0 s +2\.00 s .*as designed", text)
    assert re.search(r"2\.00 s +4\.00 s .*drive g/0 fails", text)
    assert "what bounds it" in text


def test_a_seed_is_a_text_since_readers_of_json_round_great_numbers(tmp_path: Path) -> None:
    form = json.loads(_run(tmp_path, "--duration", "1s", "--seed", str(2**64 - 1), "--json").stdout)
    assert form["seed"] == "18446744073709551615"


def test_each_stream_on_each_volume_has_its_figures_in_each_phase(tmp_path: Path) -> None:
    hog = '[[stream]]\nname = "log"\nstart = "3s"\n'
    form = json.loads(_run(tmp_path, "--duration", "6s", "--json", schedule=hog).stdout)
    quiet, busy = form["phases"]
    worked = [{one["stream"] for one in phase["cells"] if one["write"]["ios"]} for phase in (quiet, busy)]
    assert worked == [{"data"}, {"data", "log"}]
    for phase in (quiet, busy):
        told = sum(cell[name]["ops_per_s"] for cell in phase["cells"] for name in ("read", "write"))
        assert told == pytest.approx(phase["ops_per_s"], rel=0.02)
    text = _run(tmp_path, "--duration", "6s", schedule=hog).stdout
    (table,) = re.findall(r"latency a host sees, by phase\n.*\n((?:  .*\n)+)", text)
    lines = [" ".join(line.split()) for line in table.splitlines()]
    start = format_instant(quiet["from_ns"])
    assert f"esx1/log log writes {start} 0 IOPS – –" in lines
    shown = busy["cells"][0]["read"]
    assert (busy["cells"][0]["host"], busy["cells"][0]["volume"], busy["cells"][0]["stream"]) == (
        "esx1",
        "data",
        "data",
    )
    expected = f"{format_rate(shown['ops_per_s'])} {format_duration(shown['response']['mean_ns'])} "
    assert any(line.startswith(f"esx1/data data reads 3.00 s {expected}") for line in lines)


def test_of_a_single_stream_on_a_single_volume_the_phases_say_it_all(tmp_path: Path) -> None:
    text = _run(tmp_path, "--duration", "6s", schedule=_SCHEDULE).stdout
    assert "by phase" in text
    (tmp_path / "w.toml").write_text('name = "w"\n[[stream]]\noutstanding = 4\nline = [{ size = "8k" }]\n')
    arguments = [str(tmp_path / "small.toml"), "--workload", f"esx1/data={tmp_path / 'w.toml'}", "--duration", "6s"]
    kept = ["--store", str(tmp_path / "store"), "--schedule", str(tmp_path / "s.toml")]
    one = CliRunner().invoke(command, [*arguments, *kept], standalone_mode=False).stdout
    assert "phases" in one
    assert "by phase" not in one


def test_lost_data_comes_first_and_is_an_error(tmp_path: Path) -> None:
    second = '[[at]]\ntime = "2s"\ndrive_fails = { group = "g", index = 1 }\n'
    found = _run(tmp_path, "--duration", "6s", schedule=_SCHEDULE + second)
    assert found.return_value == 2
    assert found.stdout.index("DATA LOST") < found.stdout.index("figures of all phases")
    assert "os error" not in found.stdout


def test_json_stays_json_beside_an_animation(tmp_path: Path) -> None:
    found = _run(tmp_path, "--duration", "2s", "--json", "--animate")
    form = json.loads(found.stdout)
    assert (form["format"], form["design"], form["status"]) == (1, "small", "ok")
    assert form["design_file"].endswith("small.toml")
    assert "requests at each drive over time" in found.stderr
    cell = form["cells"][0]
    assert cell["read"]["response"]["p50_ns"] <= cell["read"]["response"]["p99.9_ns"]
    assert {(one["host"], one["volume"]) for one in form["cells"]} == {
        ("esx1", "data"), ("esx1", "log"), ("esx2", "data"),
    }  # fmt: skip


def test_every_field_of_the_json_is_described(tmp_path: Path) -> None:
    form = json.loads(_run(tmp_path, "--duration", "5s", "--json", schedule=_SCHEDULE).stdout)
    page = (_DOCS / "simulate-json.md").read_text()
    missing = [name for name in sorted(_names(form)) if not any(f"`{name}{kind}`" in page for kind in ("", "[]", "{}"))]
    assert not missing


def test_a_design_that_is_only_read_is_json_where_that_is_asked_for(tmp_path: Path) -> None:
    form = json.loads(_run(tmp_path, "--check", "--json").stdout)
    assert form["file"] == str(tmp_path / "small.toml")
    assert (form["design"]["name"], form["design"]["groups"][0]["name"]) == ("small", "g")
    (space,) = form["groups"]
    assert space["name"] == "g"
    assert (space["raw_bytes"], space["spare_drives_bytes"]) == (8 * 1_000_000_000_000, 0)
    assert space["usable_bytes"] == 4 * (1_000_000_000_000 // 65536) * 65536
    assert space["volumes_bytes"] == 210 * 1024**3 == space["usable_bytes"] - space["free_bytes"]
    assert not (tmp_path / "store").exists()


def _names(value: Any) -> set[str]:
    """Names of fields; those below `workload` and `figures` are described elsewhere."""
    if isinstance(value, list):
        return set().union(*map(_names, value))
    if not isinstance(value, dict):
        return set()
    below = (
        _names(inner) for name, inner in value.items() if name not in {"workload", "figures", "parts_ns", "details"}
    )
    return set(value).union(*below)


# Queues ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 56, 100, 300])
def test_drives_are_folded_to_the_width_and_none_is_lost(width: int) -> None:
    groups = [("a", 240), ("b", 7), ("c", 1)]
    fold = folded(groups, width)
    assert [drive for column in fold.columns for drive in column] == list(range(248))
    assert len(fold.columns) + len(groups) - 1 <= width
    assert max(map(len, fold.columns)) <= fold.per_column
    assert sum(columns for _, _, columns in fold.groups) == len(fold.columns)


@pytest.mark.parametrize(("count", "width"), [(49, 76), (200, 76), (200, 20)])
def test_more_groups_than_have_room_share_columns_and_none_is_lost(count: int, width: int) -> None:
    fold = folded([(f"g{number}", 25) for number in range(count)], width)
    assert [drive for column in fold.columns for drive in column] == list(range(25 * count))
    assert len(fold.columns) + len(fold.groups) - 1 <= width
    assert [(name, drives) for name, drives, _ in fold.groups] == [(f"all {count} in a row", 25 * count)]


def test_a_wide_terminal_has_a_column_for_each_drive() -> None:
    assert folded([("a", 8)], 80).per_column == 1


def test_slices_are_spread_over_the_whole_run() -> None:
    assert chosen_slices(7) == [[0, 1, 2, 3, 4, 5, 6]]
    stretches = chosen_slices(3000)
    shown = [place for stretch in stretches for place in stretch]
    assert (shown[0], shown[-1], len(shown)) == (0, 2999, 60)
    assert all(stretch == list(range(stretch[0], stretch[0] + 10)) for stretch in stretches)
    assert len(set(chosen_slices(61)[0]) | {place for one in chosen_slices(61) for place in one}) <= 61
    assert chosen_slices(0) == []


def test_lines_of_an_animation_fit_the_terminal_and_the_legend_explains_them(tmp_path: Path) -> None:
    wide = SMALL.replace("count = 8", "count = 120")
    text = _run(tmp_path, "--duration", "3s", "--animate", design=wide, width=80).stdout
    lines = text[text.index("requests at each drive over time") :].splitlines()
    bars = [line for line in lines if "│" in line]
    assert len(bars) == 60
    assert max(map(len, bars)) <= 80
    assert "3 drives, of which the fullest is shown" in lines[1]
    assert "blank 0" in lines[2]
    times = [float(line.split()[0]) for line in bars]
    assert times == sorted(times)
    assert times[-1] > 2.9


def test_shades_of_hardly_used_drives_differ_and_so_do_their_amounts(tmp_path: Path) -> None:
    """A day of some I/Os a second was blank, below a legend in which every shade was 0.0."""
    calm = tmp_path / "calm.toml"
    calm.write_text('name = "calm"\nstream = [{ rate_per_s = 2, line = [{ size = "8k" }] }]\n')
    (tmp_path / "small.toml").write_text(SMALL)
    arguments = [str(tmp_path / "small.toml"), "--workload", str(calm), "--store", str(tmp_path / "store")]
    text = CliRunner().invoke(command, [*arguments, "--duration", "10m", "--animate", "--slice", "1m"]).stdout
    lines = text[text.index("requests at each drive over time") :].splitlines()
    marks = re.findall(r"([·▁▂▃▄▅▆▇█]) ([\d.e-]+)", lines[2])
    amounts = [float(amount) for _, amount in marks]
    assert len(set(amounts)) == len(marks) == 9
    assert 0 < amounts[-1] < 0.01
    drawn = {mark for line in lines if "│" in line for mark in line.split("│")[1]}
    assert len(drawn) > 3


def _animated(tmp_path: Path, *options: str) -> tuple[str, list[str]]:
    """What is said of the lines, and the times before them."""
    lines = _run(tmp_path, "--animate", *options).stdout.splitlines()
    said = next(line for line in lines if line.startswith("a column is"))
    return said, [line.split()[0] for line in lines if "│" in line]


@pytest.mark.parametrize(("duration", "slice_length", "first"), [
    ("300ms", "1.5ms", ["0.0000", "0.0015", "0.0030"]),
    ("300ms", "1ms", ["0.000", "0.001", "0.002"]),
    ("2s", "250ms", ["0.00", "0.25", "0.50"]),
])  # fmt: skip
def test_the_times_of_lines_differ_however_short_they_are(
    duration: str, slice_length: str, first: list[str], tmp_path: Path
) -> None:
    _, times = _animated(tmp_path, "--duration", duration, "--slice", slice_length)
    assert times[:3] == first
    assert len(set(times)) == len(times)


def test_slices_that_are_longer_than_was_asked_for_are_told_so(tmp_path: Path) -> None:
    said, _ = _animated(tmp_path, "--duration", "3s", "--slice", "1ms")
    assert "a line is 2 ms, joined from 1 ms: a run keeps at most 2,048 slices;" in said
    said, _ = _animated(tmp_path, "--duration", "3s", "--slice", "1s")
    assert "a line is 1 s;" in said


def test_the_end_of_a_run_that_is_less_than_a_line_is_told(tmp_path: Path) -> None:
    said = "The last 200 ms of the run are less than a line, and not shown."
    assert said in _run(tmp_path, "--animate", "--duration", "2s", "--slice", "300ms").stdout.splitlines()
    assert "less than a line" not in _run(tmp_path, "--animate", "--duration", "2s", "--slice", "250ms").stdout


def test_one_capture_in_a_store_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(tmp_path, "--duration", "2s")
    assert run(["store", "info", "--store", str(tmp_path / "store")]) == 0
    said = capsys.readouterr().out
    assert "1 capture, " in said
    assert " 1 in runs" in said
    (stored,) = Store.open(tmp_path / "store").query("SELECT run, name FROM runs").to_pylist()
    assert f"    run      {stored['run']}  {stored['name']}\n" in said
    _run(tmp_path, "--duration", "3s")
    assert run(["store", "info", "--store", str(tmp_path / "store")]) == 0
    assert "2 captures, " in capsys.readouterr().out


def test_a_report_is_of_its_run_and_names_the_store_that_was_asked_for(tmp_path: Path) -> None:
    for name in ("first", "second"):
        _run(
            tmp_path,
            "--duration",
            "2s",
            "--report",
            str(tmp_path / f"{name}.html"),
            design=SMALL.replace("small", name),
        )
    page = (tmp_path / "second.html").read_text()
    assert str(tmp_path / "store") in page
    assert "1 capture (storscope-simulation) of second" in page


def test_a_place_where_no_store_can_be_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "letter.txt").write_text("Dear team,")
    found = _run(tmp_path, "--duration", "100h")
    assert isinstance(found.exception, NotAStore)
    assert not found.stdout


def test_a_run_that_does_not_begin_leaves_no_store(tmp_path: Path) -> None:
    found = _run(tmp_path, "--workload", "nowhere=oltp")
    assert isinstance(found.exception, UsageError)
    assert not (tmp_path / "store").exists()


def test_of_a_file_with_several_workloads_it_is_told_how_to_take_one(tmp_path: Path) -> None:
    several = tmp_path / "two.fio"
    several.write_text("[one]\nrw=randread\nfilename=/x\n[two]\nstonewall\nrw=randwrite\nfilename=/x\n")
    found = _run(tmp_path, "--workload", str(several))
    assert "'one', 'two'" in str(found.exception)
    assert "--only NAME" in str(found.exception)


def test_a_check_reads_the_workload_and_the_schedule_too(tmp_path: Path) -> None:
    said = _run(tmp_path, "--check", schedule='[[stream]]\nname = "log"\nstart = "5s"\n').stdout
    assert "  stream data: on esx1/data, esx1/log, esx2/data\n" in said
    unknown = _run(tmp_path, "--check", schedule='[[stream]]\nname = "hog"\nstart = "5s"\n')
    assert "the name of a stream of the workload ('data', 'log')" in str(unknown.exception)
    nowhere = _run(tmp_path, "--check", "--workload", "dw*=oltp")
    assert "a volume of the design" in str(nowhere.exception)
    assert "without --workload" in str(_run(tmp_path, "--check", "--trace", "x.csv").exception)
    assert not (tmp_path / "store").exists()


def test_a_check_of_the_design_alone_needs_no_workload(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    found = CliRunner().invoke(command, [str(tmp_path / "small.toml"), "--check"], standalone_mode=False)
    assert found.stdout.startswith("small\n")
    assert "stream" not in found.stdout


def test_a_pool_without_redundancy_says_so(tmp_path: Path) -> None:
    pool = SMALL.replace('layout = "raid10"', 'layout = "pool"')
    assert "8 x 7200-sata, pool (raid0)," in _run(tmp_path, "--check", design=pool).stdout
    mirrored = pool.replace('"pool"\n', '"pool"\nredundancy = "raid1"\n')
    assert "8 x 7200-sata, pool (raid1)," in _run(tmp_path, "--check", design=mirrored).stdout
    assert "8 x 7200-sata, raid10," in _run(tmp_path, "--check").stdout


def test_a_check_tells_how_much_each_group_holds_and_its_volumes_take(tmp_path: Path) -> None:
    said = _run(tmp_path, "--check").stdout
    assert "    usable 3.64 TiB of 7.28 TiB on 8 x 931 GiB; half of it holds second copies\n" in said
    assert "    volumes take 210 GiB (6 %), 3.43 TiB left\n" in said
    parity = SMALL.replace('layout = "raid10"', 'layout = "raid6"\nspares = 1')
    assert "; 2 of 8 segments are parity; 1 spare waits beside it\n" in _run(tmp_path, "--check", design=parity).stdout
    triple = SMALL.replace('layout = "raid10"', 'layout = "raid6"\nparity = 3')
    said = _run(tmp_path, "--check", design=triple).stdout
    assert ", raid6 with 3 parities, " in said
    assert "; 3 of 8 segments are parity\n" in said
    copies = SMALL.replace('layout = "raid10"', 'layout = "raid10"\ncopies = 4')
    said = _run(tmp_path, "--check", design=copies).stdout
    assert ", raid10 of 4 copies, " in said
    assert "; 3 of 4 segments are further copies\n" in said
    extents = 'layout = "pool"\nredundancy = "raid5"\nspare_share = 0.1\nextent = "8 GiB"'
    pool = SMALL.replace('layout = "raid10"', extents)
    said = _run(tmp_path, "--check", design=pool, width=400).stdout
    assert "; 1 of 5 segments is parity; 10 % of each drive is kept free for failed ones; " in said
    assert " fills no whole round of extents or stripes\n" in said


def test_one_spare_is_one(tmp_path: Path) -> None:
    said = [
        _run(tmp_path, "--check", design=SMALL.replace("count = ", f"spares = {n}\ncount = ", 1)).stdout for n in (1, 2)
    ]
    assert " and 1 spare," in said[0]
    assert " and 2 spares," in said[1]


def test_a_rebuild_without_a_spare_is_told_before_a_drive_fails(tmp_path: Path) -> None:
    task = '\n[[background]]\nname = "back"\nkind = "rebuild"\ngroup = "g"\n'
    spared = SMALL.replace("count = ", "spares = 1\ncount = ", 1)
    assert "  background back: rebuild of g\n" in _run(tmp_path, "--check", design=spared + task).stdout
    said = _run(tmp_path, "--check", design=SMALL + task).stdout
    assert "  background back: rebuild of g; it never runs, since g has no spare\n" in said


def test_a_queue_limit_that_holds_i_os_back_is_told_in_whole_words(tmp_path: Path) -> None:
    limited = SMALL.replace('{ volume = "log" }', '{ volume = "log", queue_limit = 2 }')
    said = " ".join(_run(tmp_path, "--duration", "3s", design=limited).stdout.split())
    taken = r"the queue limit of LUN esx1/log \(2\): \d\.\d places taken on average, all of them .* of the time; "
    assert re.search(taken + r"\d+\.\d I/Os wait on average", said)


def test_reads_of_two_mirrors_wait_for_the_slower_one(tmp_path: Path) -> None:
    said = " ".join(_run(tmp_path, "--workload", "backup", "--duration", "5s", design=_with_volumes(2)).stdout.split())
    assert re.search(r"where the time goes .*, wait for the slowest drive \d+ %", said)
    assert "join" not in said


def _with_volumes(count: int) -> str:
    """Two hosts, and volumes that each of them has half of."""
    volumes = "".join(f'[[volume]]\nname = "v{one}"\ngroup = "g"\nsize = "1 GiB"\n' for one in range(count))
    hosts = "".join(
        f'[[host]]\nname = "h{host}"\nvolumes = ['
        + ", ".join(f'{{ volume = "v{one}" }}' for one in range(host, count, 2))
        + "]\n"
        for host in (0, 1)
    )
    group = '[[group]]\nname = "g"\ndrive = "15k-sas"\ncount = 24\nlayout = "raid10"\n'
    return f'name = "many"\n{group}{volumes}{hosts}'


def _with_groups(count: int, used: int) -> str:
    """Of so many groups some have a volume."""
    group = '[[group]]\nname = "g{0}"\ndrive = "15k-sas"\ncount = 2\nlayout = "raid10"\n'
    volume = '[[volume]]\nname = "v{0}"\ngroup = "g{0}"\nsize = "1 GiB"\n'
    served = ", ".join(f'{{ volume = "v{one}" }}' for one in range(used))
    tables = "".join(group.format(one) for one in range(count)) + "".join(volume.format(one) for one in range(used))
    return f'name = "many"\n{tables}[[host]]\nname = "h"\nvolumes = [{served}]\n'


def test_of_many_components_the_most_used_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    """Two hundred groups pushed what bounds the run, and the figures, off any terminal."""
    said = _run(tmp_path, "--duration", "1s", design=_with_groups(100, used=50), width=100).stdout
    (table,) = re.findall(r"components\n.*\n((?:  .*\n)+)", said)
    rows = [line for line in table.splitlines() if "drives of g" in line and "%" in line]
    used = [float(one) for one in re.findall(r"drives of g\d+ +(\d+) %", table)]
    below = " ".join(table.split("\n", len(rows))[-1].split())
    assert len(rows) == 40
    assert used == sorted(used, reverse=True)
    assert below.startswith("and 10 that are used less: see --json; not used: 2 drives of g50, 2 drives of g51,")
    assert below.endswith("2 drives of g89 and 10 more")


def test_of_many_volumes_the_busiest_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    """The workload has two streams on each volume."""
    found = _run(tmp_path, "--duration", "1s", "--report", str(tmp_path / "p.html"), design=_with_volumes(64))
    for title, left_out in (("latency a host sees", 2 * 64 - 20), ("where the time goes", 64 - 20)):
        (table,) = re.findall(rf"{title}\n.*\n((?:  .*\n)+)", found.stdout)
        *rows, below = table.splitlines()
        assert len(rows) == 2 * 20, "reads and writes"
        assert below == f"  and {left_out} with fewer I/Os: see --json"
    assert "And 88 with a shorter mean." in (tmp_path / "p.html").read_text()
    form = json.loads(_run(tmp_path, "--duration", "1s", "--json", design=_with_volumes(64)).stdout)
    assert len(form["cells"]) == 2 * 64
    shown = set(re.findall(r"^  (h\d/v\d+) +data +reads", found.stdout, re.MULTILINE))
    ios = {
        f"{cell['host']}/{cell['volume']}": sum(cell[name]["ios"] for name in ("read", "write"))
        for cell in form["cells"]
        if cell["stream"] == "data"
    }
    assert len(shown) == 20
    assert min(ios[name] for name in shown) >= max(count for name, count in ios.items() if name not in shown)


def test_an_even_spread_is_over_the_drives_that_work(tmp_path: Path) -> None:
    with_spare = SMALL.replace("count = 8", "count = 8\nspares = 1")
    from_the_start = _SCHEDULE.replace("2s", "0s")
    for design, schedule, drives in ((SMALL, "", 8), (with_spare, "", 8), (SMALL, from_the_start, 7)):
        form = json.loads(_run(tmp_path, "--duration", "4s", "--json", design=design, schedule=schedule).stdout)
        assert form["queue"]["share_if_even"] == pytest.approx(1 / drives)
