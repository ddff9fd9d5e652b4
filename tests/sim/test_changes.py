"""What changes in a simulated run is told: events, phases, what did nothing, what was lost; and rules find it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.figures import Outcome
from storscope.cli.show_verdict import print_verdict
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import ConfigError
from storscope.domain.finding import Severity
from storscope.domain.load import Closed, Open, Process
from storscope.domain.units import NS_PER_S, format_span
from storscope.domain.verdict import Verdict
from storscope.domain.workload import Stream, Workload
from storscope.report.cards import headline
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.sim.unfinished import whole_ns
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_judgement import ended_words
from storscope.workbench.simulation_store import store_simulation

_STARTED_NS = 1_795_132_800_000_000_000
_DESIGN = """\
name = "pair"

[drives.small]
kind = "mechanical"
size = "2 GiB"
turns_per_min = 10000
seek = { form = "data_sheet", track_to_track = "0.5 ms", average = "4.5 ms", full_stroke = "9 ms" }
outer_rate = "80 MB/s"
inner_rate = "60 MB/s"
overhead = "0.2 ms"

[[group]]
name = "g"
drive = "small"
count = 4
spares = 1
layout = "raid10"

[[volume]]
name = "v"
group = "g"
size = "2 GiB"
owner = "A"

[[controller]]
name = "A"
cost_per_op = "20 us"

[[controller]]
name = "B"
cost_per_op = "20 us"

[cache]
write = { size = "64 MiB" }

[[host]]
name = "h"
volumes = [{ volume = "v" }]

[[background]]
name = "rebuild"
kind = "rebuild"
group = "g"
chunk = "1 MiB"
outstanding = 4
share = 0.05
"""


def _simulated(schedule: str = "", design: str = _DESIGN, duration: str = "20s", reads: float = 1.0) -> Simulated:
    workload = Workload("random", (Stream(Mix((AccessSpec(8192, read_share=reads),)), Closed(16), name="random"),))
    made = read_design(design, "pair.toml", read_schedule(schedule, "s.toml") if schedule else None)
    return simulate(plan_of(made, workload, duration=duration), started_ns=_STARTED_NS)


def _at(time: str, change: str) -> str:
    return f'[[at]]\ntime = "{time}"\n{change}\n'


def _fails(time: str, index: int) -> str:
    return _at(time, f'drive_fails = {{ group = "g", index = {index} }}')


def _diagnosed(simulated: Simulated, path: Path) -> Verdict:
    store = Store.open(path / "store", create=True)
    store_simulation(store, simulated)
    return diagnose(store)


def test_a_rebuild_that_a_run_ends_in_is_told_with_how_long_it_takes_in_all() -> None:
    """At 10 MB/s the 2 GiB of a drive take 214.7 s."""
    slowly = _DESIGN.replace("share = 0.05", 'rate = "10 MB/s"')
    simulated = _simulated(_fails("10s", 0), slowly, duration="60s")
    (task,) = simulated.array["background"]
    assert whole_ns(task, 60 * NS_PER_S) == pytest.approx(2**31 / 10e6 * NS_PER_S, rel=0.01)
    (words,) = simulated.unfinished
    assert re.fullmatch(r"rebuild of g/0: 23 % done, 47\d MiB; at this rate all of it takes about 4 min", words), words


def test_a_rebuild_of_which_one_step_was_begun_is_not_told_to_be_faster_than_its_rate() -> None:
    """The step counts as done from its beginning: 2 GiB at 10 kB/s were told to take a day, which is 2.5 of them."""
    seldom = _DESIGN.replace("share = 0.05", 'rate = "10 kB/s"')
    (words,) = _simulated(_fails("1s", 0), seldom, duration="40s").unfinished
    assert words.endswith(f"at this rate all of it takes about {format_span(2**31 / 10e3 * NS_PER_S)}"), words


def test_drives_that_wait_for_the_rebuild_of_another_are_told() -> None:
    """Nothing said at the run's end that two more pairs lack a drive."""
    six = _DESIGN.replace("count = 4", "count = 6").replace("spares = 1", "spares = 3")
    slowly = six.replace("share = 0.05", 'share = 0.05\nrate = "5 MB/s"')
    schedule = _fails("1s", 2) + _fails("2s", 0) + _fails("3s", 5)
    (words,) = _simulated(schedule, slowly, duration="10s").unfinished
    assert re.fullmatch(r"rebuild of g/2: .* takes about 2\d s; g/0, g/5 wait for it", words), words
    (words,) = _simulated(schedule, slowly, duration="30s").unfinished
    assert re.fullmatch(r"rebuild of g/0: .* takes about 2\d s; g/5 waits for it", words), words
    (words,) = _simulated(schedule, slowly, duration="55s").unfinished
    assert re.fullmatch(r"rebuild of g/5: .* takes about 2\d s", words), words


def test_a_drive_that_fails_is_told_with_its_rebuild_and_the_figures_of_each_phase() -> None:
    simulated = _simulated(_fails("10s", 0))
    kinds = [(one.kind, one.no_effect) for one in simulated.happenings]
    assert kinds == [("drive_failed", None), ("task_started", None), ("task_finished", None)]
    assert [one.time_ns for one in simulated.happenings[:2]] == [10 * NS_PER_S] * 2
    before, rebuilding, after = simulated.phase_figures
    assert before.phase.to_ns == rebuilding.phase.from_ns == 10 * NS_PER_S
    assert rebuilding.phase.to_ns == after.phase.from_ns == simulated.happenings[2].time_ns
    assert rebuilding.rate_per_s < 0.9 * before.rate_per_s
    assert after.rate_per_s == pytest.approx(before.rate_per_s, rel=0.1)


def test_the_phases_add_up_to_the_run() -> None:
    simulated = _simulated(_fails("7.03s", 0))
    phases = simulated.phase_figures
    answered = sum(one.rate_per_s * one.phase.duration_ns / NS_PER_S for one in phases)
    whole = sum(sum(target["completed"]) for target in simulated.window["targets"])
    assert answered == pytest.approx(whole, rel=1e-6)
    assert whole == pytest.approx(simulated.measured.all.ios, abs=40)


def test_what_a_stream_does_does_not_count_before_it_begins_nor_after_it_ends() -> None:
    """Between intervals: the array notes nothing of its own then, and takes no part in what streams do."""
    calm = Stream(Mix((AccessSpec(8192, read_share=1.0),)), Open(20.0, process=Process.FIXED), name="calm")
    hog = Stream(Mix((AccessSpec(8192, read_share=1.0),)), Closed(64), name="hog")
    schedule = read_schedule('[[stream]]\nname = "hog"\nstart = "5.06s"\nend = "10.06s"\n', "s.toml")
    made = read_design(_DESIGN, "pair.toml", schedule)
    simulated = simulate(plan_of(made, Workload("both", (calm, hog)), duration="20s"), started_ns=_STARTED_NS)
    before, during, after = simulated.phase_figures
    assert before.rate_per_s == pytest.approx(20, rel=0.02)
    assert during.rate_per_s > 400
    assert 20 * 0.98 < after.rate_per_s < 20 + 64 / 9  # 64 reads were in flight when it ended


def test_streams_that_run_in_turn_are_stored_with_all_that_they_did() -> None:
    """Each is alone in its phase; their rows add up to the run's."""
    schedule = '[[stream]]\nname = "first"\nend = "3s"\n[[stream]]\nname = "second"\nstart = "3s"\nend = "5s"\n'
    streams = [Stream(Mix((AccessSpec(8192, read_share=1.0),)), Closed(4), name=name) for name in ("first", "second")]
    made = read_design(_DESIGN, "pair.toml", read_schedule(schedule, "s.toml"))
    simulated = simulate(plan_of(made, Workload("in turn", tuple(streams)), duration="8s"), started_ns=_STARTED_NS)
    ios: dict[str, float] = {}
    for row in simulated.tables()["observations"].to_pylist():
        if row["run"] is not None:
            part = row["entity"].rpartition(": ")[2] if row["kind"] == "process" else row["kind"]
            ios[part] = ios.get(part, 0.0) + row["ops_per_s"] * row["duration_ns"] / NS_PER_S
    assert set(ios) == {"job", "first on h/v", "second on h/v"}
    assert ios["job"] == pytest.approx(simulated.outcome.total.all.ios)
    assert ios["job"] == pytest.approx(ios["first on h/v"] + ios["second on h/v"])
    assert ios["second on h/v"] == pytest.approx(ios["first on h/v"] * 2 / 3, rel=0.1)


def test_a_change_is_never_taken_for_warm_up() -> None:
    # Reads of the nearest copy have a warm-up of their own: all arms begin at the edge.
    in_turn = _DESIGN.replace('layout = "raid10"', 'layout = "raid10"\nread_choice = "round_robin"')
    simulated = _simulated(_fails("3s", 0), in_turn.replace("share = 0.05", 'rate = "1 MB/s"'))
    assert simulated.judgement.from_ns < 3 * NS_PER_S
    assert "3.00 s" in simulated.judgement.start
    assert all(one.low is None for one in simulated.judgement.estimates.values())


@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        (_at("1s", 'background_starts = "rebuild"'), "task_started", "no drive of g has failed"),
        (_at("1s", 'background_stops = "rebuild"'), "task_stopped", "does not run"),
        (_at("1s", 'volume_moves = { volume = "v", to = "A" }'), "volume_moved", "there already"),
        (_at("1s", 'cache_restored = "A"'), "cache_restored", "so already"),
        (_fails("1s", 0) + _fails("2s", 0), "drive_failed", "failed before"),
        (_fails("1h", 0), "drive_fails", "the run ended"),
    ],
)
def test_what_is_scheduled_and_does_nothing_is_told(change: str, kind: str, why: str) -> None:
    simulated = _simulated(change, duration="4s")
    (idle,) = [one for one in simulated.happenings if one.no_effect is not None]
    assert (idle.kind, idle.is_change) == (kind, False)
    assert why in (idle.no_effect or "")


def test_without_a_spare_and_without_a_write_cache_it_is_said() -> None:
    bare = _DESIGN.replace("spares = 1\n", "").replace('[cache]\nwrite = { size = "64 MiB" }\n', "")
    simulated = _simulated(_fails("1s", 0) + _at("2s", 'cache_lost = "A"'), bare, duration="4s")
    failed, lost = simulated.happenings
    assert "no spare" in failed.words
    assert "no write cache" in (lost.no_effect or "")


def test_lost_data_is_said_plainly_and_ends_the_run() -> None:
    # Drives 0 and 1 are a pair.
    simulated = _simulated(_fails("1s", 0) + _fails("1s", 1), duration="4s")
    assert simulated.outcome.error is not None
    kind, words = simulated.outcome.error
    assert kind == "data_lost"
    assert "volume v is lost: drives g/0 and g/1 failed" in words
    assert not any("os error" in doubt for doubt in simulated.doubts)


def test_a_run_that_lost_data_is_told_with_one_end() -> None:
    """That of the last whole interval was told beside the instant at which data was lost."""
    bare = _DESIGN.replace("spares = 1\n", "").replace('[cache]\nwrite = { size = "64 MiB" }\n', "")
    schedule = _fails("1s", 0) + _fails("2.02s", 2) + _fails("3s", 1)
    simulated = _simulated(schedule, bare.replace("raid10", "raid5"), duration="40s")
    (lost,) = simulated.lost
    assert simulated.judgement.to_ns < 2_020_000_000 == lost.time_ns
    assert simulated.judgement.ended == f"It ended at {format_span(lost.time_ns)}, when data was lost."
    told = [one.sentence for one in simulated.happenings if one.time_ns >= 2_020_000_000]
    assert len(told) == 3
    assert told[0].startswith("drive g/2 fails; there is no spare")
    assert told[1] == lost.words
    assert told[2] == f"drive g/1 fails: nothing happened, since the run ended at {format_span(lost.time_ns)}"


def test_a_set_that_loses_a_second_drive_late_in_its_rebuild_is_lost_though_nobody_asks_for_it() -> None:
    """It was called healthy: the volume lies where the first drive had been rebuilt."""
    raid5 = _DESIGN.replace("raid10", "raid5").replace("share = 0.05", 'rate = "100 MB/s"').replace(
        'size = "2 GiB"\nowner', 'size = "64 MiB"\nowner'
    )  # fmt: skip
    quiet = 'volumes = [{ volume = "v" }, { volume = "w" }]'
    other = (
        '[[group]]\nname = "o"\ndrive = "small"\ncount = 1\nlayout = "raid0"\n'
        '[[volume]]\nname = "w"\ngroup = "o"\nsize = "1 GiB"\n'
    )
    design = raid5.replace('volumes = [{ volume = "v" }]', quiet) + other
    workload = Workload("elsewhere", (Stream(Mix((AccessSpec(8192),)), Closed(1), targets=(1,)),))
    made = read_design(design, "s.toml", read_schedule(_fails("1s", 0) + _fails("15s", 1), "s.toml"))
    simulated = simulate(plan_of(made, workload, duration="20s"), started_ns=_STARTED_NS)
    assert simulated.status == "failed"
    kinds = [one.kind for one in simulated.happenings]
    assert kinds == ["drive_failed", "task_started", "drive_failed", "task_failed", "data_lost"]
    (lost,) = simulated.lost
    assert lost.time_ns == 15 * NS_PER_S
    assert "volume v is lost: drives g/0 and g/1 failed" in (simulated.outcome.error or ("", ""))[1]


def test_only_a_run_that_failed_is_said_to_have_been_ended_by_lost_data() -> None:
    simulated = _simulated(_fails("1s", 0) + _fails("1s", 1), duration="4s")
    whole = _simulated(duration="4s")

    def ended(outcome: Outcome, end_ns: int) -> str:
        return ended_words(simulated.plan, outcome, simulated.lost, end_ns)

    failed, lost_ns = replace(whole.outcome, error=("failed", "1 I/O failed")), simulated.lost[0].time_ns
    assert ended(whole.outcome, 4 * NS_PER_S) == "It ran for the 4.00 s that were asked for, though data was lost."
    assert ended(failed, lost_ns - 1) == f"It ended at {format_span(lost_ns)}, when data was lost."
    assert ended(failed, 3 * NS_PER_S) == "It ended at 3.00 s, when an I/O failed after data was lost."
    assert ended(failed, 4 * NS_PER_S) == ended(whole.outcome, 4 * NS_PER_S), "what was in flight then failed"
    stopped = replace(whole.outcome, stopped=True)
    assert ended(stopped, 3 * NS_PER_S) == "It ended early."


def test_the_headline_of_a_run_that_lost_data_is_the_lost_data(tmp_path: Path) -> None:
    verdict = _diagnosed(_simulated(_fails("1s", 0) + _fails("1s", 1), duration="4s"), tmp_path)
    first, *others = verdict.findings
    assert first.title == "Data of 1 volume of pair is lost"
    assert first.summary == "Data of volume v is lost: drives g/0 and g/1 failed, more than g survives."
    assert "drive-failed" in [finding.rule for finding in others]
    assert headline(verdict).sentence == "Data of 1 volume of pair is lost."


def test_a_diagnosis_of_a_simulated_run_tells_times_since_its_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = _diagnosed(_simulated(_fails("2s", 0), _DESIGN.replace("spares = 1\n", ""), duration="4s"), tmp_path)
    assert verdict.zero_ns == _STARTED_NS
    print_verdict(verdict, Severity.INFO, verbose=True, is_kept=True)
    said = capsys.readouterr().out
    assert "start + 0 s to start + 4.00 s" in said
    assert "g/0 at start + 2.00 s" in said
    assert "\n   start + 2.00 s\n" in said  # a failure is an instant
    assert "2026-11-20" not in said


def test_rules_find_a_failed_drive_and_a_cache_that_is_lost(tmp_path: Path) -> None:
    slow = _DESIGN.replace("share = 0.05", 'rate = "1 MB/s"')
    verdict = _diagnosed(_simulated(_fails("2s", 0) + _at("3s", 'cache_lost = "A"'), slow, reads=0.5), tmp_path)
    found = {finding.rule: finding for finding in verdict.findings}
    assert "g/0" in found["drive-failed"].summary
    assert "writes through" in found["cache-policy-flood"].summary


def test_rules_find_forwarded_reads_and_a_volume_that_moves_to_and_fro(tmp_path: Path) -> None:
    design = _DESIGN.replace('volumes = [{ volume = "v" }]', 'volumes = [{ volume = "v", via = "B" }]')
    moves = "".join(
        _at(f"{number + 2}s", f'volume_moves = {{ volume = "v", to = "{"AB"[number % 2 == 0]}" }}')
        for number in range(4)
    )
    simulated = _simulated(moves, design, duration="10s")
    assert simulated.array["volumes"][0]["moves"] == 4
    verdict = _diagnosed(simulated, tmp_path)
    found = {finding.rule for finding in verdict.findings}
    assert {"proxied-operations", "ownership-flapping"} <= found
    by_phase = [one.proxied_share for one in simulated.phase_figures]
    assert by_phase == [1.0, 0.0, 1.0, 0.0, 1.0]


def test_failed_drives_and_waiting_spares_are_not_compared_with_those_that_work(tmp_path: Path) -> None:
    """One fails before the run gets going, and without a rebuild the spare waits to the end."""
    design = _DESIGN.replace("count = 4", "count = 8").partition("[[background]]")[0]
    verdict = _diagnosed(_simulated(_fails("100ms", 0), design, duration="10s", reads=0.7), tmp_path)
    said = [finding.summary for finding in verdict.findings if finding.rule == "uneven-drives"]
    said += [one.statement for one in verdict.healthy if one.rule == "uneven-drives"]
    (words,) = said
    assert "Not compared where they did nothing: 1 failed drive (g/0) and 1 spare that waits (g/8)." in words


def test_a_spare_that_took_a_drives_place_is_no_spare_any_more(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _simulated(_fails("1s", 0)))
    states = store.query("SELECT entity, value FROM facts WHERE kind = 'disk' AND name = 'state'").to_pylist()
    assert states == []


def test_of_a_run_without_changes_rules_say_that_no_drive_failed(tmp_path: Path) -> None:
    verdict = _diagnosed(_simulated(duration="4s"), tmp_path)
    healthy = {one.rule: one.statement for one in verdict.healthy}
    assert "No drive failed" in healthy["drive-failed"]
    assert "proxied-operations" in healthy


def test_a_volume_that_moves_all_the_time_makes_no_endless_record() -> None:
    moves = "".join(
        _at(f"{20 * number + 20} ms", f'volume_moves = {{ volume = "v", to = "{"BA"[number % 2]}" }}')
        for number in range(400)
    )
    simulated = _simulated(moves, duration="10s")
    marks = simulated.array["marks"]
    assert sum(mark["change"] for mark in marks) == 64
    assert len(marks) <= 64 + 520
    phases = simulated.phase_figures
    assert [one.phase.changes_within for one in phases] == [0] * 24 + [400 - 24]
    assert phases[-1].phase.words.endswith("; then 376 more changes")
    answered = sum((one.rate_per_s or 0) * one.phase.duration_ns / NS_PER_S for one in phases)
    assert answered == pytest.approx(sum(sum(one["completed"]) for one in simulated.window["targets"]), rel=1e-6)


@pytest.mark.parametrize(
    ("schedule", "hint"),
    [
        ('[[stream]]\nname = "hog"\nbegin = "5s"\n', "Did you mean 'start'?"),
        ('[[stream]]\nname = "hog"\nuntil = "5s"\n', "Did you mean 'end'?"),
        ('[[stream]]\nname = "hog"\nduration = "5s"\n', "How long is said by when it ends: end counts from the start"),
        ('[[streams]]\nname = "hog"\n', "Did you mean [[stream]]?"),
        ('[[event]]\ntime = "5s"\n', "Did you mean [[at]]?"),
    ],
)
def test_a_key_of_a_schedule_that_does_not_exist_is_told_with_the_one_that_was_meant(schedule: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(hint)):
        read_schedule(schedule, "s.toml")
