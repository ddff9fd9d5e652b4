"""Workloads for property tests."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Copy,
    DataPool,
    Flush,
    FlushKind,
    HotSpot,
    Mix,
    Open,
    Process,
    RateStep,
    Region,
    Starts,
    Steps,
    Stream,
    ThinkTime,
    Uniform,
    Verification,
    Workload,
    Zipf,
)

names = st.text("abcdefgXYZ 0123456789-_%.;äß", min_size=1, max_size=20).map(str.strip).filter(bool)
sectors = st.integers(1, 2048).map(lambda count: 512 * count)
ratios = st.floats(0, 1)
percent = st.integers(0, 100).map(lambda value: value / 100)
processes = st.sampled_from(Process)
targets = st.lists(st.integers(0, 5), max_size=3, unique=True).map(tuple)


@st.composite
def lines(draw: st.DrawFn, *, is_open: bool) -> AccessSpec:
    return AccessSpec(
        size_bytes=draw(sectors),
        share=draw(st.floats(0.001, 1000)),
        read_share=draw(ratios),
        random_share=draw(ratios),
        delay_ns=0 if is_open else draw(st.integers(0, 10**10)),
        burst=draw(st.integers(1, 100)),
        align_bytes=draw(st.just(0) | sectors),
        reply_bytes=draw(st.just(0) | sectors),
    )


rates = st.floats(0.001, 1e9)
depths = st.integers(1, 32_768)
loads = st.one_of(
    st.builds(Closed, depths),
    st.builds(Open, rates, processes, depths),
    st.builds(Steps, st.lists(st.builds(RateStep, rates, st.integers(1, 2**63)), min_size=1, max_size=4).map(tuple),
              processes, depths),
)  # fmt: skip
offsets = st.one_of(
    st.just(Uniform()),
    st.builds(Zipf, st.floats(0.01, 10)),
    st.builds(HotSpot, ratios, st.floats(0.01, 0.5), st.floats(0, 0.5)),
)
regions = st.builds(Region, st.integers(0, 2**50), st.none() | st.integers(1, 2**50))


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    load = draw(loads)
    mixes = st.lists(lines(is_open=load.is_open), min_size=1, max_size=4).map(lambda found: Mix(tuple(found)))
    copies = st.builds(Copy, sectors, st.integers(0, 5), st.integers(0, 2**40), ratios)
    access = draw(mixes | copies)
    flushes = st.builds(Flush, st.integers(1, 2**31 - 1), st.sampled_from(FlushKind))
    return Stream(
        access=access,
        load=load,
        name=draw(st.just("") | names),
        think_time=None if load.is_open else draw(st.none() | st.builds(ThinkTime, st.integers(0, 10**10), processes)),
        flush=draw(st.none() | flushes) if access.writes else None,
        offsets=draw(offsets),
        region=draw(regions),
        targets=draw(targets),
        workers=draw(st.integers(1, 16)),
        starts=draw(st.sampled_from(Starts)),
    )


data_pools = st.builds(
    DataPool, ratios, ratios, st.integers(1, 256), st.sampled_from([2**shift for shift in range(12, 21)]),
    st.integers(0, 2**40), st.integers(0, 2**64 - 1),
)  # fmt: skip


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Any sound workload without verification, which has rules of its own."""
    return Workload(
        name=draw(names),
        streams=tuple(draw(st.lists(streams(), min_size=1, max_size=3))),
        source=draw(st.none() | st.text(max_size=20)),
        data=draw(data_pools),
        verification=Verification.NONE,
    )


@st.composite
def _icf_lines(draw: st.DrawFn) -> tuple[AccessSpec, ...]:
    cuts = sorted(draw(st.lists(st.integers(1, 99), max_size=5, unique=True)))
    shares = [high - low for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]
    return tuple(
        AccessSpec(
            size_bytes=draw(sectors),
            share=share / 100,
            read_share=draw(percent),
            random_share=draw(percent),
            delay_ns=draw(st.integers(0, 1000)) * 10**6,
            burst=draw(st.integers(1, 50)),
            align_bytes=draw(sectors),
            reply_bytes=draw(st.just(0) | sectors),
        )
        for share in shares
    )


@st.composite
def _icf_streams(draw: st.DrawFn, name: str) -> Stream:
    """Its region begins where all lines are aligned, as Iometer counts it, from byte 0."""
    lines = draw(_icf_lines())
    align = math.lcm(*(line.align_bytes for line in lines))
    return Stream(
        access=Mix(lines),
        load=Closed(draw(st.integers(1, 256))),
        name=name,
        region=Region(draw(st.integers(0, 1000)) * align if align < 2**50 else 0, draw(st.none() | sectors)),
        workers=draw(st.integers(1, 4)),
    )


@st.composite
def icf_workloads(draw: st.DrawFn) -> Workload:
    """What an .icf can hold without any loss."""
    found = draw(st.lists(names, min_size=1, max_size=3, unique_by=str.lower))
    made = tuple(draw(_icf_streams(name if len(found) > 1 else "")) for name in found)
    workload = Workload(" + ".join(found), made, source="Iometer configuration x")
    pool = DataPool(compressible_ratio=draw(st.sampled_from([0.0, 1.0])))
    return Workload(workload.name, made, workload.source, pool if workload.writes else DataPool())
