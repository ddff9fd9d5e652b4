from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from storscope.compare import compare_sides, parse_side
from storscope.domain.comparison import Outcome, Settings
from storscope.domain.errors import InputError, UsageError
from tests.compare.evidence import Writer, compared, device, noisy, only, row, run, saying
from tests.support.cases import make_store

# What is said ---------------------------------------------------------------------------------------------------------


def test_ten_percent_less_is_worse_in_rate_and_in_latency(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", noisy(1000, seed=1))], [run("a", noisy(900, seed=2))]))
    iops, latency = row(pair, "iops"), row(pair, "latency")
    assert (iops.outcome, latency.outcome) == (Outcome.WORSE, Outcome.WORSE)
    assert iops.change == pytest.approx(-0.1, abs=0.02)
    assert iops.change_low is not None
    assert iops.change_high is not None
    assert iops.change_low < -0.1 < iops.change_high
    assert iops.p_value is not None
    assert iops.p_value < 0.01
    assert iops.method == "series"
    in_flight = row(pair, "in_flight")
    assert (in_flight.outcome, in_flight.better) == (None, None)
    assert in_flight.before == pytest.approx(16)


def test_the_other_way_round_it_is_better(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", noisy(900, seed=2))], [run("a", noisy(1000, seed=1))]))
    assert {row(pair, name).outcome for name in ("iops", "latency", "bandwidth")} == {Outcome.BETTER}


def test_the_same_within_the_threshold_shows_no_difference(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", noisy(1000, 300, seed=1))], [run("a", noisy(1000, 300, seed=7))]))
    assert row(pair, "iops").outcome is Outcome.SAME
    assert row(pair, "iops").reason.startswith("at most")


def test_a_real_difference_below_the_threshold_does_not_count(tmp_path: Path) -> None:
    sides = ([run("a", noisy(1000, 600, seed=1, spread=0.02))], [run("a", noisy(970, 600, seed=2, spread=0.02))])
    iops = row(only(compared(tmp_path, *sides)), "iops")
    assert iops.outcome is Outcome.SAME
    assert "below the threshold of 5 %" in iops.reason
    assert row(only(compared(tmp_path / "1", *sides, threshold=0.01)), "iops").outcome is Outcome.WORSE


def test_noise_as_wide_as_the_threshold_cannot_tell(tmp_path: Path) -> None:
    iops = row(
        only(compared(tmp_path, [run("a", noisy(1000, 40, seed=1, spread=0.4))],
                      [run("a", noisy(1000, 40, seed=3, spread=0.4))])), "iops"
    )  # fmt: skip
    assert iops.outcome is Outcome.UNDECIDED
    assert iops.reason.startswith("could be anything from −")


def test_a_drifting_series_amounts_to_too_few_values(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", list(np.linspace(500, 1000, 60)))], [run("a", noisy(1500, 60))]))
    assert row(pair, "iops").outcome is Outcome.UNDECIDED
    assert "independent values" in row(pair, "iops").reason


def test_one_value_each_has_no_interval(tmp_path: Path) -> None:
    iops = row(only(compared(tmp_path, [run("a", 1000)], [run("a", 2000)])), "iops")
    assert (iops.change, iops.p_value, iops.change_low) == (1.0, None, None)
    assert iops.outcome is Outcome.UNDECIDED
    assert iops.reason == "no interval: one value each"


def test_few_intervals_are_counted(tmp_path: Path) -> None:
    iops = row(only(compared(tmp_path, [run("a", noisy(1000, 5))], [run("a", noisy(2000, 5))])), "iops")
    assert iops.outcome is Outcome.UNDECIDED
    assert "5 intervals are too few (8 are needed)" in iops.reason


def test_a_false_alarm_among_many_is_as_rare_as_among_one(tmp_path: Path) -> None:
    """Twelve equal loads, compared eight times: without Holm about every other comparison would find something."""
    alarms = singles = 0
    for trial in range(8):
        sides = [
            [run(f"load-{k}", noisy(1000, 60, seed=hash((trial, side, k)) % 2**32, rho=0.3)) for k in range(12)]
            for side in (0, 1)
        ]
        found = compared(tmp_path / str(trial), *sides, metrics=("iops",), threshold=0.0)
        alarms += any(pair.outcome in (Outcome.WORSE, Outcome.BETTER) for pair in found.rows())
        singles += any((pair.p_value or 1) < 0.05 for pair in found.rows())
    assert alarms <= 2
    assert singles >= 2


def test_not_alone_but_among_many_is_said(tmp_path: Path) -> None:
    before = [run(f"load-{k}", noisy(1000, 60, seed=k)) for k in range(10)]
    after = [run(f"load-{k}", noisy(1000 if k else 1022, 60, seed=100 + k)) for k in range(10)]
    found = compared(tmp_path, before, after, metrics=("iops",), threshold=0.0)
    for pair in found.pairs:
        (only_row,) = pair.rows
        assert only_row.p_value is not None
        assert only_row.p_value_adjusted is not None
        assert only_row.p_value_adjusted >= only_row.p_value
        if only_row.p_value < 0.05 <= only_row.p_value_adjusted:
            assert "not as one of 10 comparisons" in only_row.reason


# Short runs that say themselves how sure they are ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "half_width", "outcome"),
    [(1200, 20, Outcome.BETTER), (800, 20, Outcome.WORSE), (1005, 20, Outcome.SAME), (1100, 300, Outcome.UNDECIDED)],
)
def test_short_runs_are_judged_by_their_own_intervals(
    tmp_path: Path, after: float, half_width: float, outcome: Outcome
) -> None:
    """Five intervals are too few to resample; samples of an eighth of a second gave the run its interval."""
    found = compared(tmp_path, [saying(1000, half_width)], [saying(after, half_width)], metrics=("iops",))
    (iops,) = only(found).rows
    assert (iops.method, iops.outcome) == ("own", outcome)


def test_an_interval_of_unknown_freedom_does_not_count(tmp_path: Path) -> None:
    found = compared(tmp_path, [saying(1000, 20, None)], [saying(1200, 20)], metrics=("iops",))
    assert "5 intervals are too few" in only(found).rows[0].reason


def test_what_rests_on_one_sample_has_no_interval(tmp_path: Path) -> None:
    found = compared(tmp_path, [saying(1000, 20, 1.2)], [saying(1200, 20)], metrics=("iops",))
    assert "5 intervals are too few" in only(found).rows[0].reason


def test_too_few_independent_samples_decide_nothing(tmp_path: Path) -> None:
    found = compared(tmp_path, [saying(1000, 20, 3.0)], [saying(1500, 20, 3.0)], metrics=("iops",))
    assert "3.0 independent values only" in only(found).rows[0].reason


def test_hardly_too_few_independent_values_are_not_told_as_enough(tmp_path: Path) -> None:
    """It was "5.0 independent values only (5 are needed)"."""
    found = compared(tmp_path, [saying(1000, 20, 4.97)], [saying(1200, 20, 4.97)], metrics=("iops",))
    assert "4.9 independent values only (5 are needed)" in only(found).rows[0].reason


# Repeated runs --------------------------------------------------------------------------------------------------------


def test_the_runs_are_the_unit_of_repeated_runs(tmp_path: Path) -> None:
    """Each run is long and steady, but runs differ: intervals alone would find a difference that is none."""
    before = [run("a", noisy(mean, 100, seed=k, spread=0.01), id=f"a{k}", start=1000 * k)
              for k, mean in enumerate((900, 1000, 1100))]  # fmt: skip
    after = [run("a", noisy(mean, 100, seed=9 + k, spread=0.01), id=f"a{k}", start=9000 + 1000 * k)
             for k, mean in enumerate((960, 1060, 1160))]  # fmt: skip
    iops = row(only(compared(tmp_path, before, after)), "iops")
    assert (iops.method, iops.values_before, iops.values_after) == ("runs", 3, 3)
    assert iops.outcome is Outcome.UNDECIDED
    assert iops.p_value == pytest.approx(0.5, abs=0.1)  # t = 60 / sqrt(2 x 100^2 / 3) = 0.73 with 4 degrees


@pytest.mark.parametrize(
    ("engine", "words"), [("storscope-sim", "give each its own (--seed)"), ("fio", "copies of one")]
)
def test_repetitions_without_any_spread_are_suspected(engine: str, words: str, tmp_path: Path) -> None:
    sides = [[run("a", iops, id=f"a{k}", start=iops + 100 * k, engine=engine) for k in range(3)] for iops in (900, 800)]
    iops = row(only(compared(tmp_path, *sides)), "iops")
    assert iops.outcome is Outcome.UNDECIDED
    assert words in iops.reason


def test_runs_taken_in_turn_are_compared_couple_by_couple(tmp_path: Path) -> None:
    drift = (0, 200, 400, 600)
    jitter = (3, -5, 4, -2)
    before = [run("a", 1000 + d, id=f"a{k}", start=200 * k) for k, d in enumerate(drift)]
    after = [run("a", 900 + d + jitter[k], id=f"a{k}", start=200 * k + 100) for k, d in enumerate(drift)]
    iops = row(only(compared(tmp_path, before, after)), "iops")
    assert iops.method == "couples"
    assert iops.outcome is Outcome.WORSE


@pytest.mark.parametrize(("order", "left_out"), [
    ("ABABABABA", "'a4'"), ("BABABABAB", "'b4'"), ("AABABABAB", "'a0'"), ("ABABBABAB", "'b"),
])  # fmt: skip
def test_a_run_too_many_of_those_taken_in_turn_is_left_out_and_that_is_said(
    order: str, left_out: str, tmp_path: Path
) -> None:
    """Five against four lost the couples without a word: the drift hid a change of 10 %."""
    found = compared(tmp_path, *_drifting(order), metrics=("iops",))
    iops = row(only(found), "iops")
    assert (iops.method, iops.values_before, iops.values_after) == ("couples", 4, 4)
    assert iops.outcome is Outcome.WORSE
    (note,) = [note for note in only(found).notes if "Taken in turn" in note]
    assert left_out in note
    assert ("5 runs before and 4 on" in note) is (order.count("A") == 5)


def test_runs_to_and_fro_that_make_no_couples_are_said_to_be_none(tmp_path: Path) -> None:
    found = compared(tmp_path, *_drifting("AABABAAB"), metrics=("iops",))
    assert row(only(found), "iops").method == "runs"
    (note,) = [note for note in only(found).notes if "make no couples" in note]
    assert "(A A B A B A A B; A is before), 5 before and 3 after" in note


@pytest.mark.parametrize("order", ["ABABAB", "ABBAAB", "AAAABBB", "AAABBBAAA"])
def test_nothing_is_said_of_couples_that_are_whole_nor_of_runs_one_after_the_other(order: str, tmp_path: Path) -> None:
    notes = only(compared(tmp_path, *_drifting(order), metrics=("iops",))).notes
    assert not [note for note in notes if "couple" in note]


def _drifting(order: str) -> tuple[list[Writer], list[Writer]]:
    """A (before) and B (after, 150 less) in this order, on storage that gets 50 quicker from one to the next."""
    sides: dict[str, list[Writer]] = {"A": [], "B": []}
    for place, letter in enumerate(order):
        iops = 1000 + 50 * place - 150 * (letter == "B") + (3, -5, 4, -2, 1)[place % 5]
        sides[letter].append(run("a", iops, id=f"{letter.lower()}{len(sides[letter])}", start=100 * place))
    return sides["A"], sides["B"]


def test_one_after_the_other_they_are_not_couples(tmp_path: Path) -> None:
    before = [run("a", 1000 + k, id=f"a{k}", start=k) for k in range(3)]
    after = [run("a", 900 + k, id=f"a{k}", start=100 + k) for k in range(3)]
    assert row(only(compared(tmp_path, before, after)), "iops").method == "runs"


# What makes them incomparable -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outstanding": 32.0}, "number of outstanding I/Os 16 before, 32 after"),
        ({"block_bytes": 8192.0}, "block size 4 KiB before, 8 KiB after"),
        ({"duration_s": 600.0}, "ran 60 s before, 10 min after"),
    ],
)
def test_a_different_load_is_said_loudly_and_not_judged(tmp_path: Path, change: dict[str, float], words: str) -> None:
    sides = ([run("a", noisy(1000))], [run("a", noisy(500), **change)])  # type: ignore[arg-type]
    pair = only(compared(tmp_path, *sides))
    assert not pair.is_comparable
    assert pair.warnings[0].startswith("NOT THE SAME LOAD")
    assert words in pair.warnings[0]
    assert row(pair, "iops").outcome is Outcome.UNDECIDED
    assert row(pair, "iops").p_value is not None
    judged = only(compared(tmp_path / "1", *sides, allow_different_load=True))
    assert row(judged, "iops").outcome is Outcome.WORSE
    assert judged.warnings[0].startswith("NOT THE SAME LOAD")


def test_our_own_runs_may_differ_in_length(tmp_path: Path) -> None:
    sides = ([run("a", noisy(1000), engine="storscope")], [run("a", noisy(900), engine="storscope", duration_s=300.0)])
    assert only(compared(tmp_path, *sides)).is_comparable


def test_a_warm_up_that_is_left_out_makes_no_run_shorter(tmp_path: Path) -> None:
    whole = run("a", noisy(1000), engine="storscope-sim", duration_s=60.0)
    settled = run("a", noisy(900), engine="storscope-sim", duration_s=32.0, parameters={"warm_up_s": "28"})
    assert only(compared(tmp_path, [whole], [settled])).is_comparable
    cut = run("a", noisy(900), engine="storscope-sim", duration_s=32.0, parameters={"warm_up_s": "2"})
    assert not only(compared(tmp_path / "1", [whole], [cut])).is_comparable


def test_a_run_in_which_the_array_changed_is_told_as_a_mixture(tmp_path: Path) -> None:
    phases = json.dumps([{"begins": "as designed"}, {"begins": "drive pool/3 fails"}])
    changed = run("a", noisy(900), parameters={"phases": phases})
    pair = only(compared(tmp_path, [run("a", noisy(1000))], [changed]))
    assert [one for one in pair.warnings if one.startswith("Changed after") and "'drive pool/3 fails'" in one]
    as_designed = run("a", noisy(900), parameters={"phases": json.dumps([{"begins": "as designed"}])})
    assert not only(compared(tmp_path / "1", [run("a", noisy(1000))], [as_designed])).warnings


def test_what_runs_doubted_of_themselves_is_told_again(tmp_path: Path) -> None:
    sure, doubted = run("a", noisy(1000)), run("a", noisy(900), parameters={"doubts": "The array had not settled."})
    assert not only(compared(tmp_path, [sure], [run("a", noisy(900), parameters={"doubts": ""})])).warnings
    (said,) = only(compared(tmp_path / "1", [sure], [doubted])).warnings
    assert said == "Doubted after: The array had not settled."
    twice = [run("a", noisy(900), id=f"a{n}", start=100 * n, parameters={"doubts": f"Doubt {n}."}) for n in (1, 2)]
    (said,) = only(compared(tmp_path / "2", twice, [sure])).warnings
    assert said == "Doubted before (2 of 2 runs): Doubt 1."


def test_a_load_that_one_side_does_not_state_is_noted(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", 100)], [run("a", 100, outstanding=None, latency_ns=1.6e8)]))
    assert pair.is_comparable
    assert "The number of outstanding I/Os is not stated after (16 on the other side)." in pair.notes


@pytest.mark.parametrize(("engine", "alike"), [("storscope-sim", False), ("storscope", False), ("fio", True)])
def test_one_load_and_a_mix_of_our_own_are_not_the_same(engine: str, alike: bool, tmp_path: Path) -> None:
    alone = run("users", noisy(1000), engine=engine)
    beside = run("users beside a hog", noisy(900), engine=engine, block_bytes=None, read_ratio=None)
    pair = only(compared(tmp_path, [alone], [beside]))
    assert pair.is_comparable is alike
    if not alike:
        assert any("block size 4 KiB before, several after" in one for one in pair.warnings)
    assert only(compared(tmp_path / "mixes", [beside], [beside])).is_comparable


def test_unequal_concurrency_is_found_by_littles_law(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", 1000, latency_ns=8e6)], [run("a", 1000, latency_ns=16e6)]))
    said = " ".join(pair.warnings)
    assert "8.0 I/Os were in flight before and 16.0 after" in said
    assert "Of 16 configured outstanding I/Os 8.0 were in flight before" in said
    pair = only(compared(tmp_path / "few", [run("a", 10, latency_ns=4.2e6)], [run("a", 10, latency_ns=8e6)]))
    assert "0.042 I/Os were in flight before and 0.08 after" in " ".join(pair.warnings)


def test_at_a_fixed_rate_operations_are_load_and_concurrency_follows_latency(tmp_path: Path) -> None:
    fixed = {"rate_iops": "1000"}
    pair = only(
        compared(
            tmp_path,
            [run("a", noisy(1000), latency_ns=8e6, parameters=fixed)],
            [run("a", noisy(1000, seed=5), latency_ns=16e6, parameters=fixed)],
        )
    )
    assert row(pair, "iops").outcome is None
    assert not pair.warnings


def test_a_run_that_failed_is_named(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [run("a", 1000)], [run("a", 1000, status="error 84 (EILSEQ)")]))
    assert "a (error 84 (EILSEQ))" in pair.warnings[0]


def _repeated(
    mean: float, status: str | None = "ok", *, failed: int = 3, fixed: bool = False, bound: str | None = None,
    engine: str = "storscope",
) -> list[Writer]:  # fmt: skip
    """Three runs, of which so many ended otherwise than well."""
    parameters = ({"rate_iops": "900"} if fixed else {}) | ({"latency_bound": bound} if bound else {})
    return [
        run("a", mean + k, id=f"a{k}", start=mean * 10 + 100 * k, status=status if k < failed else "ok",
            engine=engine, parameters=parameters, latency_ns=1e12 / mean + k)
        for k in range(3)
    ]  # fmt: skip


@pytest.mark.parametrize("status", ["failed", "error 5 (EIO)", "12 I/O errors"])
def test_a_side_that_failed_is_neither_better_nor_worse(status: str, tmp_path: Path) -> None:
    """A mirror that lost its half of the drives writes once, which is fast."""
    sides = _repeated(1000), _repeated(2000, status, failed=1)
    judged = [one for one in only(compared(tmp_path / "1", *sides)).rows if one.metric != "in_flight"]
    assert {(one.outcome, one.reason) for one in judged} == {
        (Outcome.UNDECIDED, "1 of 3 runs after failed or lost data")
    }
    both = _repeated(1000, status), _repeated(2000, status)
    (reason,) = {one.reason for one in only(compared(tmp_path / "2", *both)).rows if one.metric != "in_flight"}
    assert reason == "3 of 3 runs before and 3 of 3 runs after failed or lost data"
    pair = only(compared(tmp_path / "3", *sides, allow_failed=True))
    assert row(pair, "iops").outcome is Outcome.BETTER
    assert "--allow-failed" in pair.warnings[0]


def test_of_an_invalid_side_all_but_the_latencies_are_judged(tmp_path: Path) -> None:
    sides = _repeated(1000), _repeated(500, "invalid")
    pair = only(compared(tmp_path / "closed", *sides))
    assert row(pair, "latency").outcome is Outcome.UNDECIDED
    assert row(pair, "latency").reason == "the latencies of 3 of 3 runs after do not mean what they say"
    assert row(pair, "iops").outcome is Outcome.WORSE
    open_loop = _repeated(1000, "invalid", fixed=True), _repeated(500, "invalid", fixed=True)
    assert compared(tmp_path / "open", *open_loop).count(Outcome.WORSE) == 0
    assert row(only(compared(tmp_path / "all", *sides, allow_failed=True)), "latency").outcome is Outcome.WORSE


@pytest.mark.parametrize(
    ("side", "bound", "change", "outcome"),
    [
        ("after", "upper", "lower", Outcome.BETTER),
        ("after", "upper", "higher", Outcome.UNDECIDED),
        ("after", "lower", "lower", Outcome.UNDECIDED),
        ("after", "lower", "higher", Outcome.WORSE),
        ("before", "lower", "lower", Outcome.BETTER),
        ("before", "lower", "higher", Outcome.UNDECIDED),
        ("before", "upper", "lower", Outcome.UNDECIDED),
        ("before", "upper", "higher", Outcome.WORSE),
        ("before", "limited", "lower", Outcome.BETTER),
        ("after", "limited", "higher", Outcome.WORSE),
        ("after", None, "lower", Outcome.UNDECIDED),
        ("after", None, "higher", Outcome.UNDECIDED),
    ],
)
def test_an_invalid_latency_that_only_hides_a_part_of_the_difference_is_judged(
    side: str, bound: str | None, change: str, outcome: Outcome, tmp_path: Path
) -> None:
    """Latency falls with the rate that the evidence is made of; a bound is of the truth."""
    rates = (1000, 2000) if change == "lower" else (2000, 1000)
    invalid = [("invalid", bound) if side == own else ("ok", None) for own in ("before", "after")]
    sides = [_repeated(rate, status, failed=2, bound=of) for rate, (status, of) in zip(rates, invalid, strict=True)]
    found = row(only(compared(tmp_path, *sides)), "latency")
    assert found.outcome is outcome
    words = "the latency" if bound == "limited" else "at least so: "
    assert found.reason.startswith("the latencies of" if outcome is Outcome.UNDECIDED else words)
    assert found.change is not None


def test_bounds_on_both_sides_must_widen_the_difference(tmp_path: Path) -> None:
    def judged(name: str, before: str, after: str) -> tuple[Outcome | None, str]:
        sides = _repeated(1000, "invalid", bound=before), _repeated(2000, "invalid", bound=after)
        found = row(only(compared(tmp_path / name, *sides)), "latency")
        return found.outcome, found.reason

    outcome, reason = judged("sure", "lower", "upper")
    assert outcome is Outcome.BETTER
    assert reason.startswith("at least so: the storage fell behind before") and "the generator after" in reason
    assert judged("late", "upper", "upper")[0] is Outcome.UNDECIDED
    assert judged("overloaded", "lower", "lower")[0] is Outcome.UNDECIDED


def test_the_service_of_runs_whose_generator_was_late_is_judged(tmp_path: Path) -> None:
    """It begins when an I/O is sent; of what an overload left unserved nothing is known."""

    def judged(bound: str) -> dict[str, Outcome | None]:
        sides = []
        for rate in (1000, 2000):
            side = [
                run("a", rate, id=f"{rate}-{k}", start=10 * rate + 100 * k, status="invalid", engine="storscope",
                    parameters={"latency_bound": bound}, latency_ns=1e12 / rate + k, device_latency_ns=5e11 / rate + k)
                for k in range(3)
            ]  # fmt: skip
            sides.append(side)
        pair = only(compared(tmp_path / bound, *sides, metrics=("latency", "device_latency")))
        return {one.metric: one.outcome for one in pair.rows}

    assert judged("upper") == {"latency": Outcome.UNDECIDED, "device_latency": Outcome.BETTER}
    assert judged("lower") == {"latency": Outcome.UNDECIDED, "device_latency": Outcome.UNDECIDED}


def test_a_bound_is_no_difference_s_proof(tmp_path: Path) -> None:
    """Latencies that are alike as measured need not be so in truth; and of another tool none is of the response."""
    sides = _repeated(1000), _repeated(1000, "invalid", bound="upper")
    pair = only(compared(tmp_path / "same", sides[0], [*sides[1][1:], run("a", 1002, status="invalid", start=9e5,
        engine="storscope", parameters={"latency_bound": "upper"}, latency_ns=1e9)]))  # fmt: skip
    assert row(pair, "latency").outcome is Outcome.UNDECIDED
    others = _repeated(1000, engine="fio"), _repeated(2000, "invalid", bound="upper", engine="fio")
    assert row(only(compared(tmp_path / "fio", *others)), "latency").outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("status", ["interrupted", "killed", None])
def test_a_run_that_was_cut_short_is_judged(status: str | None, tmp_path: Path) -> None:
    found = compared(tmp_path, _repeated(1000), _repeated(500, status))
    assert row(only(found), "iops").outcome is Outcome.WORSE
    assert not any("--allow-failed" in said for said in only(found).warnings)


# Running systems ------------------------------------------------------------------------------------------------------


def test_two_times_of_a_running_system(tmp_path: Path) -> None:
    rates = noisy(500, 240, seed=1)
    latency = [*noisy(1e6, 120, seed=2), *noisy(2e6, 120, seed=3)]
    store = make_store(tmp_path, device("sda", rates, latency))
    middle = "2027-01-15T08:02:00"
    sides = (parse_side(f"until={middle}"), parse_side(f"since={middle}"))
    found = compare_sides((store, sides[0]), (store, sides[1]), Settings(), version="test")
    pair = only(found)
    assert row(pair, "latency").outcome is Outcome.WORSE
    assert row(pair, "latency").change == pytest.approx(1.0, abs=0.05)
    assert (row(pair, "latency").values_before, row(pair, "latency").values_after) == (120, 120)
    assert row(pair, "iops").outcome is None
    assert not found.notes


def test_another_load_on_a_running_system_is_a_warning(tmp_path: Path) -> None:
    flat = [1e6] * 60
    pair = only(compared(tmp_path, [device("sda", noisy(500, 60), flat)], [device("sda", noisy(900, 60), flat)]))
    assert "operations changed by +80.0 %" in pair.warnings[0]


def test_two_captures_of_the_same_time_count_once(tmp_path: Path) -> None:
    flat = [1e6] * 60
    before = [device("sda", noisy(500, 60), flat), device("sda", noisy(100, 30), flat[:30])]
    pair = only(compared(tmp_path, before, [device("sda", noisy(500, 60), flat)]))
    assert row(pair, "iops").values_before == 60
    assert row(pair, "iops").before == pytest.approx(500, rel=0.05)


# Refusals -------------------------------------------------------------------------------------------------------------


def test_the_same_evidence_twice_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path, run("a"))
    side = parse_side(str(tmp_path))
    with pytest.raises(UsageError, match="same evidence twice"):
        compare_sides((store, side), (store, side), Settings(), version="test")


def test_times_that_overlap_are_said(tmp_path: Path) -> None:
    store = make_store(tmp_path, device("sda", [100.0] * 60, [1e6] * 60))
    sides = (parse_side("until=2027-01-15T08:00:40"), parse_side("since=2027-01-15T08:00:20"))
    found = compare_sides((store, sides[0]), (store, sides[1]), Settings(), version="test")
    assert found.notes == ["1 entity is on both sides at the same times, which makes them alike."]


def test_runs_do_not_compare_with_counters(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="benchmark runs before, counters of running systems after"):
        compared(tmp_path, [run("a")], [device("sda", [1.0] * 9, [1.0] * 9)])


def test_an_empty_side_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path, run("a"))
    with pytest.raises(InputError, match="none that fits"):
        compare_sides((store, parse_side("run=b")), (store, parse_side("run=a")), Settings(), version="test")


def test_an_unknown_metric_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bandwidth"):
        compared(tmp_path, [run("a")], [run("a")], metrics=("speed",))
    for written, meant in (("throughput", "bandwidth"), ("latncy", "latency"), ("p99lat", None)):
        with pytest.raises(UsageError) as refused:
            compared(tmp_path / written, [run("a")], [run("a")], metrics=(written,))
        assert ("Did you mean" in refused.value.hint) == (meant is not None)
        assert meant is None or f"Did you mean {meant!r}?" in refused.value.hint
