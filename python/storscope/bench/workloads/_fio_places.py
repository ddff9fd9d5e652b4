"""Where a fio job's transfers go: the distribution of offsets, and the region."""

from __future__ import annotations

import re

from storscope.bench.workloads._fio_given import GivenOptions
from storscope.bench.workloads._fio_text import Option, integer_of, size_of
from storscope.domain.load import HotSpot, Offsets, Region, Starts, Uniform, Zipf

_PARTS = "each job keeps to its part; here each worker begins where its part does, and goes on at the end of it"


def offsets_of(job: GivenOptions) -> Offsets:
    """The distribution of random offsets."""
    option, text, _ = job.pair("random_distribution")
    kind, _, rest = text.partition(":")
    if option is None or kind == "random":
        return Uniform()
    if kind == "zipf":
        value, _, centre = rest.partition("/")
        if centre:
            job.note("random_distribution", "the centre of the distribution is left out")
        return Zipf(_exponent(job, option, value or "1.1"))
    if kind == "zoned":
        return _zones(job, option, rest)
    job.losses.lost(option.where, option.text, "no such distribution of offsets here; uniform is taken")
    return Uniform()


def _exponent(job: GivenOptions, option: Option, text: str) -> float:
    if not re.fullmatch(r"\d{1,3}(\.\d{1,9})?", text.strip()) or not 0 < float(text) <= 10:
        job.fail(option, "an exponent above 0, at most 10")
    return float(text)


def _zones(job: GivenOptions, option: Option, text: str) -> Offsets:
    """Two zones are a hot spot; so are three, when the outer ones are equally busy for their size."""
    pairs = [part.partition("/") for part in text.split(":")]
    zones = [(integer_of(option, access, job.where, 100) / 100, integer_of(option, space, job.where, 100) / 100)
             for access, _, space in pairs]  # fmt: skip
    if abs(sum(space for _, space in zones) - 1) > 0.001 or any(space == 0 for _, space in zones):
        job.fail(option, "zones whose sizes add up to 100")
    hottest = max(range(len(zones)), key=lambda at: zones[at][0] / zones[at][1])
    cold = [access / space for at, (access, space) in enumerate(zones) if at != hottest]
    if len(zones) > 3 or (len(cold) > 1 and max(cold) - min(cold) > 0.05 * max(*cold, 0.01)):
        job.losses.approximated(option.where, option.text, "the busiest zone becomes a hot spot, the rest uniform")
    start = round(sum(space for _, space in zones[:hottest]), 9)
    return HotSpot(zones[hottest][0], zones[hottest][1], start)


def places_of(job: GivenOptions, workers: int) -> tuple[Region, Starts]:
    """The part of its targets that it uses, and where its workers begin what is not random."""
    option = job.take("offset_increment")
    if option is None or workers == 1:
        return _region_of(job), Starts.TOGETHER
    start, part = _extent(job, "offset") or 0, job.options.get("size")
    if part is not None and part.value.strip() == option.value.strip():
        share = re.fullmatch(r"(\d{1,3})%", part.value.strip())
        job.take("size")
        if share is None:
            job.note("offset_increment", _PARTS)
            return Region(start, workers * size_of(part, part.value, job.where, job.kb_base)), Starts.APART
        if not start and 100 // workers == int(share[1]):
            job.note("offset_increment", _PARTS)
            return Region(), Starts.APART
    reason = "only equal parts, of this size each, of all the target or of a region become workers that begin apart"
    job.losses.lost(option.where, option.text, reason)
    return _region_of(job), Starts.TOGETHER


def _region_of(job: GivenOptions) -> Region:
    start, length = _extent(job, "offset"), _extent(job, "size")
    return Region(start or 0, length or None)


def _extent(job: GivenOptions, name: str) -> int | None:
    option = job.take(name)
    if option is None:
        return None
    if option.value.strip().endswith("%"):
        if option.value.strip() not in {"0%", "100%"}:
            job.losses.lost(option.where, option.text, "a share of a target whose size is not known here")
        return None
    return size_of(option, option.value, job.where, job.kb_base)
