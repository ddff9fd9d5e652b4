"""The matrix of a sweep and the order in which it is measured."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.bench.sweep import Planned, axes_of, axis_meant, demanding, is_axis, matrix, matrix_of
from storscope.bench.sweep_order import balanced_order, imbalance
from storscope.bench.targets import check_fits
from storscope.bench.workloads import load_workload
from storscope.bench.workloads.definition import Sweep
from storscope.domain.errors import UsageError
from storscope.domain.sweep import Point
from storscope.domain.workload import AccessSpec, Closed, Mix, Open, Starts, Workload

_ISSUE = ("sizes=4k,16k,64k", "modes=randread,randwrite,read", "jobs=1,2,4,8")


def _points(*axes: str) -> list[Point]:
    return [item.point for item in matrix(axes_of(axes))]


def _line(workload: Workload) -> AccessSpec:
    access = workload.streams[0].access
    assert isinstance(access, Mix)
    return access.lines[0]


def test_a_matrix_has_a_point_for_each_combination() -> None:
    points = _points(*_ISSUE)
    assert len(points) == len(set(points)) == 3 * 3 * 4
    assert len({point.key for point in points}) == len(points)
    assert {point.block_bytes for point in points} == {4096, 16384, 65536}


def test_axes_that_are_not_given_have_one_value() -> None:
    assert _points("jobs=1,2") == [Point("randread", 4096, 1, 1), Point("randread", 4096, 2, 1)]


@pytest.mark.parametrize(
    ("mode", "reads", "randoms"),
    [("read", 1, 0), ("write", 0, 0), ("randread", 1, 1), ("randwrite", 0, 1), ("rw", 0.5, 0), ("randrw", 0.5, 1)],
)
def test_modes_mean_what_they_mean_in_fio(mode: str, reads: float, randoms: float) -> None:
    (item,) = matrix(axes_of([f"modes={mode}", "bs=8k", "numjobs=3", "iodepth=16"]))
    stream, line = item.workload.streams[0], _line(item.workload)
    assert (line.size_bytes, line.read_share, line.random_share) == (8192, reads, randoms)
    assert (stream.workers, stream.load) == (3, Closed(16))


def test_a_mix_varies_mixed_modes_only() -> None:
    points = _points("modes=randread,randrw", "mix=30,70%")
    assert [(point.mode, point.read_share) for point in points] == [
        ("randread", None), ("randrw", 0.3), ("randrw", 0.7),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="mixed mode"):
        matrix(axes_of(["modes=read", "mix=70"]))


@pytest.mark.parametrize(
    "axes",
    [["size"], ["color=red"], ["sizes="], ["sizes=4x"], ["sizes=0"], ["modes=trim"], ["jobs=0"], ["jobs=a"],
     ["mix=100", "modes=rw"], ["jobs=1", "numjobs=2"]],
)  # fmt: skip
def test_what_is_no_axis_is_refused(axes: list[str]) -> None:
    with pytest.raises(UsageError):
        axes_of(axes)


def test_an_axis_is_told_from_a_target() -> None:
    assert is_axis("sizes=4k")
    assert not is_axis("/dev/sdb")
    assert not is_axis("a=b")


def test_a_target_is_opened_for_the_most_that_any_point_needs() -> None:
    def needs(*axes: str) -> Workload:
        return demanding(matrix(axes_of(axes)))

    assert not needs("modes=read,randread").writes
    assert needs("modes=read,randwrite").writes
    assert needs("sizes=512,64k").stamp_unit_bytes == 512
    check_fits(needs(*_ISSUE), 65536)
    with pytest.raises(Exception, match=r"room for one transfer of .*64 KiB, found 32 KiB"):
        check_fits(needs(*_ISSUE), 32768)


def test_a_workload_is_varied_in_jobs_and_depth() -> None:
    planned = matrix_of(load_workload("random-8k-70-read"), axes_of(["jobs=1,4", "depth=1,8"]))
    assert [(item.point.jobs, item.point.depth) for item in planned] == [(1, 1), (1, 8), (4, 1), (4, 8)]
    assert [(item.workload.streams[0].workers, item.workload.streams[0].load) for item in planned] == [
        (1, Closed(1)), (1, Closed(8)), (4, Closed(1)), (4, Closed(8)),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="jobs and depth"):
        matrix_of(load_workload("random-8k-70-read"), axes_of(["sizes=4k"]))


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("sizes=4q", r"sizes, found '4q': a size is like 4096, 64k or 1MiB"),
        ("sizes=1T", r"sizes, found '1T': a block has at most 1 GiB"),
        ("jobs=many", r"jobs, found 'many': a whole number, at least 1, is needed"),
        ("depth=1.5", r"depth, found '1.5': a whole number"),
        ("mix=most", r"mix, found 'most': a percentage of reads from 1 to 99 is needed"),
        ("mix=0", r"mix, found '0': a percentage of reads from 1 to 99 is needed; 0 is modes=randwrite or write"),
        ("mix=70,100", r"mix, found '100': .* 1 to 99 is needed; 0 is .*, 100 is modes=randread or read"),
        ("mix=0.7", r"mix, found '0.7': a percentage of reads from 1 to 99 is needed; 70 if a share of 0.7 is meant"),
        ("starts=early", r"starts, found 'early': the words are together, apart"),
    ],
)
def test_a_value_that_is_none_is_told_what_one_is(axis: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        axes_of([axis])
    assert not [word for word in ("int()", "float", "Starts") if word in str(raised.value)]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("job=2", "jobs=2"), ("dephts=4", "depth=4"), ("rwmixraed=70", "mix=70"), ("job", None), ("/mnt/a=b", None)],
)
def test_a_misspelt_axis_is_nearly_one(word: str, meant: str | None) -> None:
    assert axis_meant(word) == meant


def test_the_jobs_of_a_fio_file_are_points() -> None:
    text = "[global]\nsize=1g\ndirect=1\n[a]\nrw=randread\nbs=4k\n[b]\nstonewall\nrw=write\nbs=1m\n"
    planned = matrix_of(load_workload(text), axes_of([]))
    assert [item.point.mode for item in planned] == ["a", "b"]
    assert [item.point.block_bytes for item in planned] == [4096, 1024**2]


def test_a_file_with_cycling_is_its_own_matrix() -> None:
    """Iometer's test cycling: workers and outstanding I/Os take the place of those in the workload."""
    definition = replace(load_workload("file-server"), sweep=Sweep(outstanding=(1, 4, 16), workers=(1, 2)))
    planned = matrix_of(definition, axes_of([]))
    assert [(item.point.jobs, item.point.depth) for item in planned] == [
        (jobs, depth) for jobs in (1, 2) for depth in (1, 4, 16)
    ]
    assert [(item.point.jobs, item.point.depth) for item in matrix_of(definition, axes_of(["depth=8"]))] == [
        (1, 8), (2, 8),
    ]  # fmt: skip
    stream = replace(planned[0].workload.streams[0], load=Open(100.0))
    arrivals = replace(definition, workloads=(replace(planned[0].workload, streams=(stream,)),))
    with pytest.raises(UsageError, match="closed loop"):
        matrix_of(arrivals, axes_of([]))


# The order ------------------------------------------------------------------------------------------------------------

_axes = st.tuples(
    st.lists(st.sampled_from(["4k", "16k", "64k", "1M"]), min_size=1, unique=True),
    st.lists(st.sampled_from(["read", "randread", "randwrite"]), min_size=1, unique=True),
    st.lists(st.integers(1, 32), min_size=1, max_size=5, unique=True),
)


def _matrix(axes: tuple[list[str], list[str], list[int]]) -> list[Planned]:
    sizes, modes, jobs = axes
    texts = [f"sizes={','.join(sizes)}", f"modes={','.join(modes)}", f"jobs={','.join(map(str, jobs))}"]
    return matrix(axes_of(texts))


@settings(max_examples=60)
@given(_axes, st.integers(1, 4), st.integers(0, 2**64 - 1))
def test_each_block_has_each_point_once_and_the_seed_repeats_it(
    axes: tuple[list[str], list[str], list[int]], blocks: int, seed: int
) -> None:
    points = [item.point for item in _matrix(axes)]
    order = balanced_order(points, blocks, seed)
    assert [sorted(block) for block in order] == [list(range(len(points)))] * blocks
    assert order == balanced_order(points, blocks, seed)


@settings(max_examples=25)
@given(st.integers(0, 2**64 - 1), st.integers(1, 3))
def test_no_value_of_an_axis_comes_early_or_late(seed: int, blocks: int) -> None:
    points = _points(*_ISSUE)
    found = imbalance(points, balanced_order(points, blocks, seed))
    generator = random.Random(seed)
    plain = sorted(
        imbalance(points, [generator.sample(range(36), 36) for _ in range(blocks)]) for _ in range(99)
    )  # fmt: skip
    assert found < 1.4, "in standard deviations of a random order, over ten values of three axes"
    assert found < plain[50]
    assert blocks != 2 or found == 0
    assert found < imbalance(points, [list(range(36))] * blocks) / 3


def test_a_steady_drift_biases_no_value_of_an_axis() -> None:
    """A device that loses 20 % on the way: in the order of the matrix that looks like an effect of the mode."""
    points = _points(*_ISSUE)

    def bias(order: list[list[int]]) -> float:
        """Greatest distance of a mode's mean from the truth of 1.0, relative to the mean of all."""
        speed: dict[str, list[float]] = {}
        places = [index for block in order for index in block]
        for place, index in enumerate(places):
            speed.setdefault(points[index].mode, []).append(1 - 0.2 * place / (len(places) - 1))
        means = [sum(values) / len(values) for values in speed.values()]
        return max(means) - min(means)

    assert bias([list(range(36))]) > 0.12
    assert max(bias(balanced_order(points, 1, seed)) for seed in range(20)) < 0.045
    assert max(bias(balanced_order(points, 2, seed)) for seed in range(20)) == pytest.approx(0)


def test_sequential_jobs_begin_apart_unless_they_should_begin_together() -> None:
    """What one job has just read, a cache has for the others that begin at the same place."""

    def starts(*axes: str) -> dict[str, Starts]:
        planned = matrix(axes_of(["modes=read,randread,rw", "jobs=1,8", *axes]))
        return {f"{item.point.mode} {item.point.jobs}": item.workload.streams[0].starts for item in planned}

    assert {name for name, found in starts().items() if found is Starts.APART} == {"read 8", "rw 8"}
    assert set(starts("starts=together").values()) == {Starts.TOGETHER}
    for wrong in ("starts=elsewhere", "starts=apart,together"):
        with pytest.raises(UsageError, match="starts"):
            starts(wrong)


def test_a_depth_that_no_ring_holds_is_told_as_a_value_of_its_axis() -> None:
    with pytest.raises(UsageError, match=r"values of the axis depth, found '100000': a job has at most 32,768 I/Os"):
        axes_of(["depth=1,100000"])
    assert axes_of(["depth=32768"]).depth == (32768,)
