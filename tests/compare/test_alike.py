"""Another tool's latency begins at submission: of our runs the service is compared with it, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain import flush
from storscope.domain.comparison import Comparison, Outcome
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.compare.evidence import LOAD, SECOND, START, Writer, compared, only, row, run

_SERVICE_NS, _LATENESS_NS = 2e6, 6e6
_RESPONSE_NS = _SERVICE_NS + _LATENESS_NS
_NOTE = (
    "Latencies begin at submission on both sides: fio's lat (slat + clat), and of storscope the service. Its response, "
    "from when an I/O should have started, is not compared."
)


def _ours(engine: str = "storscope", *, read_share: float = 1.0, response: bool = True) -> Writer:
    """An open loop that is late: what is handed over takes 2 ms, what should have started 8 ms."""

    def write(recorder: Recorder) -> None:
        job = EntityRef("host", "job", "ours")
        recorder.run("ours", engine=engine, name="w", system="host", time_ns=START, duration_ns=60 * SECOND, **LOAD)
        for index in range(60):
            figures = {"ops_per_s": 1000.0, "device_latency_ns_mean": _SERVICE_NS}
            figures |= {"read_ops_per_s": 1000.0 * read_share, "write_ops_per_s": 1000.0 * (1 - read_share)}
            if response:
                figures |= {"latency_ns_mean": _RESPONSE_NS, "read_latency_ns_mean": _RESPONSE_NS}
            at = START + index * SECOND
            recorder.observe(job, at, SECOND, figures, run="ours")
            for measure, middle in (("response", _RESPONSE_NS), ("service", _SERVICE_NS), ("lateness", _LATENESS_NS)):
                if response or measure == "service":
                    buckets = [(middle * 0.99, middle * 1.01, 1000)]
                    recorder.histogram(job, at, SECOND, "read", measure, buckets, run="ours")
        for name, value in (("mean", _RESPONSE_NS), ("iops", 1000.0)):
            for part, number in (("", value), (" low", value * 0.99), (" high", value * 1.01), (" independent", 30)):
                recorder.fact(EntityRef("host", "job", "ours"), f"{name}{part}", number)

    return write


def _fio(measure: str = "lat") -> Writer:
    def write(recorder: Recorder) -> None:
        run("w", [1000.0] * 60, latency_ns=_SERVICE_NS)(recorder)
        for index in range(60):
            buckets = [(_SERVICE_NS * 0.99, _SERVICE_NS * 1.01, 1000)]
            recorder.histogram(
                EntityRef("host", "job", "w"), START + index * SECOND, SECOND, "read", measure, buckets, run="w"
            )

    return write


def _notes(comparison: Comparison) -> str:
    return " ".join(only(comparison).notes)


@pytest.mark.parametrize("engine", ["storscope", "storscope-sim"])
def test_fio_is_compared_with_our_service(tmp_path: Path, engine: str) -> None:
    comparison = compared(tmp_path, [_fio()], [_ours(engine)], metrics=("latency", "p99", "in_flight"))
    latency, p99, in_flight = (row(only(comparison), name) for name in ("latency", "p99", "in_flight"))
    assert (latency.before, latency.after) == (_SERVICE_NS, _SERVICE_NS)
    assert p99.after == pytest.approx(_SERVICE_NS, rel=0.02)
    assert p99.before == pytest.approx(p99.after)
    assert in_flight.after == pytest.approx(2.0)
    assert _NOTE in _notes(comparison)
    assert "do not time I/Os alike" not in _notes(comparison)


@pytest.mark.parametrize("engine", ["iometer", "diskspd", "elbencho"])
def test_other_tools_that_time_from_submission_are_compared_with_our_service(tmp_path: Path, engine: str) -> None:
    theirs = run("w", [1000.0] * 60, latency_ns=_SERVICE_NS, engine=engine)
    comparison = compared(tmp_path, [theirs], [_ours()], metrics=("latency",))
    assert row(only(comparison), "latency").after == _SERVICE_NS
    assert f"submission on both sides: {engine}'s," in _notes(comparison).replace("Iometer", "iometer")


def test_the_order_of_the_sides_makes_no_difference(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [_ours()], [_fio()])
    assert row(only(comparison), "latency").before == _SERVICE_NS
    assert _NOTE in _notes(comparison)


def test_our_own_runs_keep_their_response(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [_ours()], [_ours("storscope-sim")])
    assert row(only(comparison), "latency").before == _RESPONSE_NS
    assert "submission" not in _notes(comparison)


def test_a_direction_is_compared_only_where_it_is_all_there_is(tmp_path: Path) -> None:
    def fio(recorder: Recorder) -> None:
        recorder.run("w", engine="fio", name="w", system="host", time_ns=START, duration_ns=60 * SECOND, **LOAD)
        figures = {"ops_per_s": 1000.0, "read_ops_per_s": 1000.0, "read_latency_ns_mean": _SERVICE_NS}
        recorder.observe(EntityRef("host", "job", "w"), START, 60 * SECOND, figures, run="w")

    reads = compared(tmp_path / "reads", [fio], [_ours()], metrics=("read_latency",))
    assert row(only(reads), "read_latency").after == _SERVICE_NS
    mixed = compared(tmp_path / "mixed", [fio], [_ours(read_share=0.7)], metrics=("read_latency",))
    assert not only(mixed).rows
    assert "read_latency: only the side before has it." in _notes(mixed)
    assert (
        "read_latency: not compared. Latencies are compared from submission, and of storscope's run the service of "
        "reads and of writes apart is not kept, nor is it in distributions for its intervals."
    ) in _notes(mixed)


_READ_NS, _WRITE_NS = 1e6, 5e6
_READS, _WRITES = 700, 300
_APART = "the service of reads and of writes apart is from distributions, whose buckets are at most 0.8 % wide"


def _mixed(engine: str, *, width: float = 0.008, counted: float = 1.0) -> Writer:
    """Reads of 1 ms and writes of 5 ms, each at an edge of its bucket, far from the middle on opposite sides."""

    def write(recorder: Recorder) -> None:
        job = EntityRef("host", "job", engine)
        recorder.run(engine, engine=engine, name="w", system="host", time_ns=START, duration_ns=60 * SECOND,
                     **(LOAD | {"read_ratio": 0.7}))  # fmt: skip
        mean_ns = (_READS * _READ_NS + _WRITES * _WRITE_NS) / (_READS + _WRITES)
        figures = {"ops_per_s": 1000.0, "read_ops_per_s": float(_READS), "write_ops_per_s": float(_WRITES)}
        if engine == "fio":
            figures |= {
                "latency_ns_mean": mean_ns,
                "read_latency_ns_mean": _READ_NS,
                "write_latency_ns_mean": _WRITE_NS,
            }
        else:
            figures |= {"device_latency_ns_mean": mean_ns, "latency_ns_mean": 2 * mean_ns}
            figures |= {"read_latency_ns_mean": 2 * _READ_NS, "write_latency_ns_mean": 2 * _WRITE_NS}
        for index in range(60):
            at = START + index * SECOND
            recorder.observe(job, at, SECOND, figures, run=engine)
            reads = [(_READ_NS, _READ_NS * (1 + width), round(_READS * counted))]
            writes = [(_WRITE_NS / (1 + width), _WRITE_NS, _WRITES)]
            for operation, buckets in (("read", reads), ("write", writes)):
                recorder.histogram(job, at, SECOND, operation, "service", buckets, run=engine)

    return write


@pytest.mark.parametrize("engine", ["storscope", "storscope-sim"])
def test_reads_and_writes_apart_are_compared_by_our_distributions(tmp_path: Path, engine: str) -> None:
    comparison = compared(
        tmp_path, [_mixed("fio")], [_mixed(engine)], metrics=("latency", "read_latency", "write_latency")
    )
    for name, truth_ns in (("read_latency", _READ_NS), ("write_latency", _WRITE_NS)):
        found = row(only(comparison), name)
        assert found.before == truth_ns
        assert found.after == pytest.approx(truth_ns, rel=0.008)
        assert found.after != pytest.approx(2 * truth_ns, rel=0.1), "not the response"
        assert found.outcome is (Outcome.SAME if engine == "storscope" else None), "a prediction is not judged"
    assert row(only(comparison), "latency").after == (_READS * _READ_NS + _WRITES * _WRITE_NS) / 1000
    assert _APART in _notes(comparison)
    assert "not compared" not in _notes(comparison).replace("is not compared", "")


def test_where_they_come_from_is_said_only_to_who_asks_for_them(tmp_path: Path) -> None:
    assert _APART not in _notes(compared(tmp_path, [_mixed("fio")], [_mixed("storscope")]))


@pytest.mark.parametrize("wrong", [{"counted": 0.9}, {"width": 0.2}])
def test_distributions_of_other_ios_tell_nothing(tmp_path: Path, wrong: dict[str, float]) -> None:
    comparison = compared(
        tmp_path, [_mixed("fio")], [_mixed("storscope", **wrong)], metrics=("read_latency", "write_latency")
    )
    assert not only(comparison).rows
    for name in ("read_latency", "write_latency"):
        assert f"{name}: not compared. Latencies are compared from submission" in _notes(comparison)
    assert _APART not in _notes(comparison)


def test_an_open_loop_that_fio_ran_for_us_is_compared_by_its_service(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [_ours("fio", response=False)], [_ours()])
    assert row(only(comparison), "latency").before == _SERVICE_NS
    assert row(only(comparison), "p99").before == pytest.approx(_SERVICE_NS, rel=0.02)


def test_a_tool_that_nobody_knows_is_left_as_it_is(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [run("w", [1000.0] * 60, engine="vdbench")], [_ours()])
    assert row(only(comparison), "latency").after == _RESPONSE_NS
    assert "they do not time I/Os alike" in _notes(comparison)


def test_where_fio_kept_no_lat_it_is_said_which_parts_there_are(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [_fio("clat")], [_ours()])
    assert (
        "p99: the sides timed different parts of an I/O (clat before, service after; run fio with lat_percentiles=1)."
    ) in _notes(comparison)


def test_a_percentile_that_fio_tells_of_lat_is_compared_with_our_service(tmp_path: Path) -> None:
    def told(measure: str) -> Writer:
        return run("w", 1000.0, reads=1.0, told={f"read.{measure}.p99": 2e6})

    found = row(only(compared(tmp_path / "lat", [told("lat")], [_ours()])), "p99")
    assert (found.before, found.after) == (2e6, pytest.approx(_SERVICE_NS, rel=0.02))
    assert (
        "p99: the sides timed different parts of an I/O (clat before, service after; run fio with lat_percentiles=1)."
    ) in _notes(compared(tmp_path / "clat", [told("clat")], [_ours()]))


# Flushes --------------------------------------------------------------------------------------------------------------

_FLUSH_NS = 3e6


def _flushing(engine: str, *, flush_ns: float = _FLUSH_NS, late_ns: float = 0.0) -> Writer:
    """As many flushes as writes, one after the other; ours are known by histograms of their service alone."""
    is_fio = engine == "fio"

    def write(recorder: Recorder) -> None:
        job = EntityRef("host", "job", "log")
        recorder.run("log", engine=engine, name="w", system="host", time_ns=START, duration_ns=60 * SECOND, **LOAD)
        for index in range(60):
            at = START + index * SECOND
            mean = (_SERVICE_NS + flush_ns) / 2
            figures = {
                "ops_per_s": 400.0,
                "write_ops_per_s": 200.0,
                "read_ops_per_s": 0.0,
                "latency_ns_mean": mean + late_ns,
            }
            figures |= {"write_latency_ns_mean": _SERVICE_NS + late_ns}
            recorder.observe(job, at, SECOND, figures | ({} if is_fio else {"device_latency_ns_mean": mean}), run="log")
            recorder.counter(job, at, SECOND, flush.RATE, "1/s", 200.0, run="log")
            recorder.counter(job, at, SECOND, flush.LATENCY, "ns", flush_ns + late_ns, run="log")
            for operation, middle in (("write", _SERVICE_NS), (flush.OPERATION, flush_ns)):
                buckets = [(middle * 0.996, middle * 1.004, 200)]
                recorder.histogram(job, at, SECOND, operation, "lat" if is_fio else "service", buckets, run="log")

    return write


def test_flushes_are_compared_where_runs_made_any(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [_flushing("storscope")], [_flushing("storscope", flush_ns=2 * _FLUSH_NS)])
    found = {result.metric: result for result in only(comparison).rows}
    assert {"flush_latency", "flush_p99", "flush_rate"} <= set(found)
    assert (found["flush_latency"].before, found["flush_latency"].after) == (_FLUSH_NS, 2 * _FLUSH_NS)
    assert found["flush_latency"].outcome is Outcome.WORSE
    assert found["flush_rate"].before == found["flush_rate"].after == 200.0
    assert found["flush_p99"].before == pytest.approx(_FLUSH_NS, rel=0.005)
    # Whether the write or its flush has the wait says nothing of a commit.
    assert [found[name].outcome for name in ("latency", "p99")] == [None, None]
    assert found["latency"].reason == "without its flushes, not judged"
    # They are no I/Os, but in flight while they last.
    assert (found["iops"].before, found["latency"].before) == (200.0, pytest.approx(_SERVICE_NS))
    assert found["p99"].before == pytest.approx(_SERVICE_NS, rel=0.005)
    assert found["in_flight"].before == pytest.approx(400.0 * (_SERVICE_NS + _FLUSH_NS) / 2 / SECOND)
    assert found["in_flight"].after == pytest.approx(400.0 * (_SERVICE_NS + 2 * _FLUSH_NS) / 2 / SECOND)


def test_of_runs_without_flushes_nothing_is_said_of_them(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [_ours()], [_ours()])
    assert not any("flush" in result.metric for result in only(comparison).rows)
    assert "flush" not in _notes(comparison)


def test_flushes_of_fio_are_compared_with_the_service_of_ours(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [_flushing("storscope", late_ns=5e6)], [_flushing("fio")])
    found = {result.metric: result for result in only(comparison).rows}
    assert found["flush_latency"].before == pytest.approx(_FLUSH_NS, rel=0.001)
    assert found["flush_latency"].outcome is Outcome.SAME
    assert found["flush_p99"].before == pytest.approx(found["flush_p99"].after)
    assert (found["latency"].before, found["latency"].after) == (pytest.approx(_SERVICE_NS, rel=0.001), _SERVICE_NS)
    assert found["iops"].before == found["iops"].after == 200.0
    assert "of storscope's runs the service of writes and of flushes apart is from distributions" in _notes(
        comparison
    ).replace("Of storscope", "of storscope")


def test_what_flushes_alone_have_does_not_stand_for_writes(tmp_path: Path) -> None:
    """fio keeps the total of flushes, and of writes perhaps the completion alone."""

    def with_clat(recorder: Recorder) -> None:
        job = EntityRef("host", "job", "log")
        recorder.run("log", engine="fio", name="w", system="host", time_ns=START, duration_ns=60 * SECOND, **LOAD)
        for index in range(60):
            at = START + index * SECOND
            recorder.observe(job, at, SECOND, {"ops_per_s": 400.0, "write_ops_per_s": 200.0}, run="log")
            for operation, measure, middle in (("write", "clat", _SERVICE_NS), (flush.OPERATION, "lat", _FLUSH_NS)):
                buckets = [(middle * 0.996, middle * 1.004, 200)]
                recorder.histogram(job, at, SECOND, operation, measure, buckets, run="log")

    pair = only(compared(tmp_path, [with_clat], [with_clat]))
    assert [note for note in pair.notes if note.startswith("p99: of fio's clat, which leaves out ")]
    found = {result.metric: result for result in pair.rows}
    assert found["p99"].before == pytest.approx(_SERVICE_NS, rel=0.005)
    assert found["flush_p99"].before == pytest.approx(_FLUSH_NS, rel=0.005)
