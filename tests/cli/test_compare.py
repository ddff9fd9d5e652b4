"""storscope compare, from the command line."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from storscope.cli.main import run
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.compare import evidence
from tests.support.cases import make_store

ROOT = Path(__file__).parent.parent.parent
IMPORTERS = ROOT / "tests" / "importers"
BEFORE = IMPORTERS / "results_table" / "eva4400_before_published.csv"
AFTER = Path(__file__).parent.parent / "compare" / "eva4400_after_published.csv"
STATUS = IMPORTERS / "fio_json" / "fio_3.33_status_interval_jsonplus.json"
SCHEMA = json.loads((ROOT / "docs" / "compare.schema.json").read_text())


def compared(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    assert run(["compare", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A store with repeated runs: base and slower."""
    runs = [
        evidence.run(f"{name}-{k}", mean + 3 * k, start=mean * 10 + 100 * k)
        for name, mean in (("base", 1000), ("slow", 800))
        for k in range(4)
    ]
    make_store(tmp_path / "lab", *runs)
    return tmp_path / "lab"


def _fields(schema: object) -> set[str]:
    """The names of all properties, at any depth."""
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", ())).union(*map(_fields, schema.values()))


def test_every_field_of_the_schema_is_explained() -> None:
    page = (ROOT / "docs" / "compare-json.md").read_text(encoding="utf-8")
    assert [name for name in sorted(_fields(SCHEMA)) if f"`{name}`" not in page and f"`{name}[]`" not in page] == []


@pytest.mark.parametrize("command", [["compare", str(BEFORE), str(AFTER)], ["diagnose", str(BEFORE)]])
@pytest.mark.parametrize("seed", ["-1", str(2**53)])
def test_a_seed_that_the_resampling_or_a_reader_of_json_cannot_take_is_refused(
    command: list[str], seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, f"--seed={seed}"]) == 2
    assert "is not in the range 0<=x<=9007199254740991" in capsys.readouterr().err


def test_the_table_before_and_after_of_the_field_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(BEFORE), str(AFTER)]) == 0
    said = capsys.readouterr().out
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert "Max Throughput-100%Read latency 2.67 ms 5.09 ms +90.6 % cannot tell" in lines
    assert any(line.startswith("one value each iops 10,809 /s 11,686 /s +8.1 %") for line in lines)
    assert any(line.startswith("one value each iops 1,530 /s 5,113 /s +234 %") for line in lines)
    assert "Max Throughput-50%Read latency 34.0 ms 6.63 ms −80.5 % cannot tell" in lines
    assert "CANNOT TELL: no interval: one value each." in said
    assert "28.9 I/Os were in flight before and 59.5 after" in " ".join(said.split())
    assert "RealLife-60%Rand-65%Read (before only)" in said


def test_a_comparison_of_nothing_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty table is no answer, and the reason is no detail."""
    assert run(["compare", str(BEFORE), str(AFTER), "--metric", "p99"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("CANNOT TELL: no figure that was looked for can be compared.")
    assert "p99: neither side has it. Percentiles are taken from histograms; fio writes them" in said
    assert "More: --verbose" not in said


def test_figures_of_the_load_alone_are_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(BEFORE), str(AFTER), "--metric", "in_flight"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("CANNOT TELL: only figures of the load were compared, which are neither better nor worse.")


def test_the_json_of_the_field_report_has_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, BEFORE, AFTER)
    first = found["pairs"][0]
    assert first["load_before"]["outstanding"] == 64
    for row in first["rows"]:
        assert (row["p_value"], row["change_low"], row["difference_high"]) == (None, None, None)
    assert first["rows"][0]["change"] == pytest.approx(5.09 / 2.67 - 1)
    assert {item["name"] for item in found["unmatched"]} == {"RealLife-60%Rand-65%Read", "Random-8k-70%Read"}


def test_runs_of_a_store_are_chosen_by_pattern_and_fail_the_pipeline(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [f"{lab}#run=base*", f"{lab}#run=slow*"]
    found = compared(capsys, *sides)
    assert found["counts"]["worse"] == 3
    assert found["before"]["subjects"] == found["after"]["subjects"] == 4
    assert run(["compare", *sides, "--fail-on", "worse"]) == 1
    assert run(["compare", *reversed(sides), "--fail-on", "worse"]) == 0
    assert run(["compare", *sides, "--fail-on", "worse", "--threshold", "30%"]) == 0
    capsys.readouterr()


def test_the_store_in_use_needs_no_path(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(capsys, "run=base*", "run=slow*", "--store", lab)["counts"]["worse"] == 3


def test_the_headline_names_what_is_worse(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", f"{lab}#run=base*", f"{lab}#run=slow*", "--metric", "iops"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("WORSE: iops of ")
    assert "4 + 4 runs" in said
    assert "< 0.1 %" in said


def test_one_run_a_side_is_no_proof_and_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs of the very same differ by more than the interval within either: a busy minute is enough."""
    make_store(tmp_path / "s", evidence.saying(1000, 20, name="a"), evidence.saying(1200, 20, name="b"))
    sides = [f"{tmp_path / 's'}#run=a", f"{tmp_path / 's'}#run=b", "--metric", "iops"]
    assert compared(capsys, *sides)["pairs"][0]["rows"][0]["method"] == "own"
    assert run(["compare", *sides]) == 0
    assert "from one run a side and do not know how much runs differ" in " ".join(capsys.readouterr().out.split())


def test_repeated_runs_need_no_such_caution(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", f"{lab}#run=base*", f"{lab}#run=slow*"]) == 0
    assert "do not know how much runs differ" not in " ".join(capsys.readouterr().out.split())


def test_fail_on_cannot_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(BEFORE), str(AFTER), "--fail-on", "worse"]) == 0
    assert run(["compare", str(BEFORE), str(AFTER), "--fail-on", "cannot-tell"]) == 1
    capsys.readouterr()


def test_fail_on_cannot_tell_when_nothing_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", str(BEFORE), str(AFTER)]
    assert run([*command, "--metric", "p99", "--fail-on", "cannot-tell"]) == 1
    assert run([*command, "--metric", "p99", "--fail-on", "worse"]) == 0
    assert run([*command, "--metric", "in_flight", "--fail-on", "cannot-tell"]) == 1
    runs = [
        evidence.run("a", mean + k, id=f"{mean}-{k}", start=mean * 10 + 100 * k)
        for mean in (900, 990)
        for k in range(4)
    ]
    make_store(tmp_path / "s", *runs)
    told = ["compare", f"{tmp_path / 's'}#run=900*", f"{tmp_path / 's'}#run=990*", "--metric", "iops"]
    assert run([*told, "--fail-on", "cannot-tell"]) == 0
    capsys.readouterr()
    assert run([*told, "--metric", "p99", "--fail-on", "cannot-tell"]) == 1
    assert "p99: neither side has it" in capsys.readouterr().out


def test_a_metric_that_one_run_lacks_is_told_without_verbose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        evidence.run("a", rate, id=f"{rate}", start=10 * rate, histogram=[[0, 1]] if rate != 992 else ())
        for rate in (900, 901, 902, 990, 991, 992)
    ]
    make_store(tmp_path / "s", *runs)
    assert run(["compare", f"{tmp_path / 's'}#run=90*", f"{tmp_path / 's'}#run=99*"]) == 0
    assert "p99: 1 of 3 runs after lacks it (992)." in capsys.readouterr().out


def test_repetitions_that_agree_need_no_more_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [evidence.run("a", mean, id=f"{mean}-{k}", start=mean + 100 * k) for mean in (800, 900) for k in range(3)]
    make_store(tmp_path / "s", *runs)
    assert run(["compare", f"{tmp_path / 's'}#run=800*", f"{tmp_path / 's'}#run=900*"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "as copies of one run do" in said
    assert "three or more runs a side" not in said


def test_where_nothing_is_compared_nothing_can_be_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two devices a side: which belongs to which nobody knows, and no pipeline may take that for good news."""
    for name, devices in (("before.csv", "sda sdb"), ("after.csv", "sdx sdy")):
        rows = [f"{device},4096,100,100,8,{1000 * number}" for number, device in enumerate(devices.split(), 1)]
        text = "\n".join(["device,block_bytes,read_pct,random_pct,outstanding,iops", *rows])
        (tmp_path / name).write_text(f"{text}\n")
    sides = [str(tmp_path / "before.csv"), str(tmp_path / "after.csv"), "--fail-on"]
    assert run(["compare", *sides, "worse"]) == 0
    assert run(["compare", *sides, "cannot-tell"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "sda, 4 KiB (before only): fits several of the other side (sdx, 4 KiB, sdy, 4 KiB); different tests" in said


def test_fio_by_the_interval_and_iometer_compare_with_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, STATUS, IMPORTERS / "iometer_csv" / "inst_1.1.0_written.csv")
    (pair,) = found["pairs"]
    assert not pair["comparable"]
    assert "block size 4 KiB before, 8 KiB after" in pair["warnings"][0]
    assert "fio before, by iometer after" in " ".join(pair["notes"])
    latency = next(row for row in pair["rows"] if row["metric"] == "latency")
    assert (latency["values_before"], latency["values_after"], latency["outcome"]) == (4, 3, "cannot tell")


def test_folders_are_compared_and_verbose_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    (tmp_path / "old" / "a.json").write_bytes((IMPORTERS / "fio_json" / "fio_3.33_jsonplus.json").read_bytes())
    (tmp_path / "new" / "b.json").write_bytes(STATUS.read_bytes())
    assert run(["compare", str(tmp_path / "old"), str(tmp_path / "new"), "-v", "--metric", "p99"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "NOT THE SAME LOAD" in said
    assert "counts resampled as if I/Os were independent" in said
    assert "(Mann-Whitney" in said


def test_control_characters_of_evidence_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_store(tmp_path / "s", evidence.run("a\x1b[31m"), evidence.run("lone\x1b[2J", block_bytes=512.0))
    make_store(tmp_path / "t", lambda recorder: recorder.warn("x"), evidence.run("a\x1b[31m", 2000))
    assert run(["compare", str(tmp_path / "s"), str(tmp_path / "t")]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-file", "b"], "which does not exist"),
        (["bench-18ea5a9462d76102", "run=b"], "Did you mean run=bench-18ea5a9462d76102?"),
        ([str(BEFORE), str(BEFORE)], "the same evidence twice"),
        ([str(BEFORE), str(AFTER), "--threshold", "much"], "expected a share like 5%"),
        ([str(BEFORE), str(AFTER), "--level", "5%"], "expected 50% to 99.99%"),
        ([str(BEFORE), str(AFTER), "--metric", "speed"], "Known are: latency"),
        ([str(BEFORE), str(ROOT / "pyproject.toml")], "evidence that an importer understands"),
        ([str(BEFORE), "gone#run=x"], "gone#run=x"),
        (["run=x", "run=y", "--store", "nowhere"], "a storscope store"),
    ],
)
def test_what_cannot_be_compared_ends_with_a_sentence(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["compare", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "storscope compare before.csv after.csv" in said
    assert "without an offset UTC: 2026-11-20T09:00 is 2026-11-20T10:00+01:00" in said


def test_a_time_with_an_offset_is_the_same_instant_as_in_utc(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counters of 100 s from 2027-01-15 08:00 UTC on."""
    make_store(tmp_path / "lab", evidence.device("sda", [100.0] * 50 + [200.0] * 50, [1e6] * 100))
    found = [
        compared(capsys, f"{tmp_path / 'lab'}#until={time}", f"{tmp_path / 'lab'}#since={time}")
        for time in ("2027-01-15T08:00:50", "2027-01-15T09:00:50+01:00", "2027-01-15T02:30:50-05:30")
    ]
    rows = [one["pairs"][0]["rows"] for one in found]
    assert rows[0] == rows[1] == rows[2]
    iops = next(row for row in rows[0] if row["metric"] == "iops")
    assert (iops["before"], iops["after"], iops["values_before"], iops["values_after"]) == (100.0, 200.0, 50, 50)


def test_where_no_run_fits_the_latest_are_named(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "--store", str(lab), "run=bse-*", "run=slow-*"]) == 2
    assert "There are 8 runs, the latest first: base-3 (base-3); base-2 (base-2); " in capsys.readouterr().err
    assert run(["compare", "--store", str(lab), "run=base-1,base-2", "run=slow-*"]) == 2
    assert "Several runs are joined with a bar: 'run=base-1|base-2'. There are 8 runs" in capsys.readouterr().err
    assert run(["compare", f"{lab}#run=base-*,system=nowhere", f"{lab}#run=slow-*"]) == 2
    assert "There are 8 runs" in capsys.readouterr().err
    assert run(["compare", f"{lab}#entity=sda", f"{lab}#entity=sdb"]) == 2
    assert "There are no entities with counters." in capsys.readouterr().err


def test_where_no_entity_fits_those_with_counters_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_store(tmp_path / "lab", evidence.device("sda", [100.0] * 9, [1e6] * 9))
    assert run(["compare", f"{tmp_path / 'lab'}#entity=sdx", f"{tmp_path / 'lab'}#entity=sda"]) == 2
    assert "There are: device/sda." in capsys.readouterr().err


def test_counters_beside_a_simulated_run_are_told_as_what_can_be_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the other side has comes before what is busiest; and what is told works."""
    sim, measured, other = tmp_path / "sim", tmp_path / "measured", tmp_path / "other"

    def simulated(recorder: Recorder) -> None:
        evidence.run("w", 100, engine="storscope-sim", id="simulation-1")(recorder)
        evidence.device("sda", [100.0] * 60, [2e6] * 60)(recorder)
        evidence.device("sdb", [900.0] * 60, [1e6] * 60)(recorder)

    make_store(sim, simulated)
    for path, name in ((measured, "sda"), (other, "sdz")):
        make_store(path, lambda recorder: recorder.warn("x"), evidence.device(name, [110.0] * 60, [2e6] * 60))
    for sides in ((measured, sim), (sim, measured)):
        assert run(["compare", *map(str, sides)]) == 2
        assert f"'{sim}#entity=device/sda' instead of {sim}." in capsys.readouterr().err
    assert run(["compare", str(measured), f"{sim}#run=w"]) == 2
    assert f"'{sim}#run=w,entity=device/sda' instead of" in capsys.readouterr().err
    assert run(["compare", str(measured), f"{sim}#run=w,entity=device/sda"]) == 0
    assert "iops" in capsys.readouterr().out
    assert run(["compare", str(other), str(sim)]) == 2
    assert f"entity=KIND/NAME chooses them, as '{sim}#entity=device/sdb' instead" in capsys.readouterr().err


def _benched(
    target: Path, capsys: pytest.CaptureFixture[str], store: Path, toml: str, *options: str, size: str = "4M"
) -> str:
    """The side of a short run on a scratch file."""
    workload = store.parent / "workload.toml"
    workload.write_text(f'name = "w"\n[[stream]]\nline = [{{ size = "4k" }}]\n{toml}\n')
    arguments = ["bench", str(target), "--workload", str(workload), "--size", size, "--duration", "1s"]
    assert run([*arguments, "--store", str(store), "--json", *options]) == 0
    return f"run={json.loads(capsys.readouterr().out)['run']}"


def test_real_runs_of_different_loads_are_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (target := tmp_path / "data").mkdir()
    bench = functools.partial(_benched, target, capsys, tmp_path / "store")
    slow, fast, again = (bench(f"rate_per_s = {rate}") for rate in (100, 620, 620))
    plain, thinking = bench("outstanding = 4"), bench('outstanding = 4\nthink_time = "2ms"')
    buffered = bench("outstanding = 4", "--buffered", size="8M")
    for before, after, words in (
        (slow, fast, "NOT THE SAME LOAD: rate 100/s before, 620/s after."),
        (plain, thinking, "NOT THE SAME LOAD: think time none before, 2.00 ms after."),
        (plain, slow, "NOT THE SAME LOAD: rate none before, 100/s after."),
        (
            buffered,
            plain,
            "NOT THE SAME LOAD: I/O through the page cache before, direct after; part of the target 8 MiB",
        ),
    ):
        arguments = ["compare", before, after, "--store", str(tmp_path / "store")]
        assert run([*arguments, "--fail-on", "worse"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith(("CANNOT TELL: not the same load.", "CANNOT TELL: only figures of the load"))
        assert words in said
        assert "judged: --allow-different-load judges" in said
        assert "the generator paused" not in said
    found = compared(capsys, fast, again, "--store", tmp_path / "store")
    assert found["pairs"][0]["comparable"]


def _of_host(host: str, device: str, latency_ns: float) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        for index, rate in enumerate(evidence.noisy(1000)):
            figures = {"ops_per_s": rate, "latency_ns_mean": latency_ns}
            at = evidence.START + index * evidence.SECOND
            recorder.observe(EntityRef(host, "device", device), at, evidence.SECOND, figures)

    return write


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("sda", "Of another system: db1/device/sda against db2/device/sda."),
        ("sdb", "The names differ; paired since there is nothing else: db1/device/sda against db2/device/sdb."),
    ],
)
def test_that_counters_are_of_another_host_or_device_is_told_without_being_asked_for(
    device: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_store(tmp_path / "one", _of_host("db1", "sda", 4e6))
    make_store(tmp_path / "other", _of_host("db2", device, 2e6))
    assert run(["compare", str(tmp_path / "one"), str(tmp_path / "other")]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
