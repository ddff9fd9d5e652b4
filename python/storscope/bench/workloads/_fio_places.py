"""Where a fio job's transfers go: the distribution of offsets, and the region."""

from __future__ import annotations

import re
from collections.abc import Sequence

from storscope.bench.workloads._fio_given import GivenOptions
from storscope.bench.workloads._fio_sizes import least_size_of
from storscope.bench.workloads._fio_text import Option, integer_of, size_of
from storscope.domain.errors import MalformedInput
from storscope.domain.load import HotSpot, Offsets, Region, Starts, Uniform, Zipf
from storscope.domain.units import format_bytes

_PARTS = "each job keeps to its part; here each worker begins where its part does, and goes on at the end of it"

_NO_CENTRE = "-1"
_SECTOR_BYTES = 512


def offsets_of(job: GivenOptions) -> Offsets:
    """The distribution of random offsets."""
    option, text, writes = job.pair("random_distribution")
    kind, _, rest = text.partition(":")
    if option is None or kind == "random":
        return Uniform()
    if kind == "zipf":
        return _zipf(job, option, rest)
    if kind == "zoned":
        return _zones(job, option, _used_zones(job, rest, writes.removeprefix("zoned:")))
    job.losses.lost(option.where, option.text, "no such distribution of offsets here; uniform is taken")
    return Uniform()


def _zipf(job: GivenOptions, option: Option, text: str) -> Zipf:
    """From 'exponent:centre', each of which may be missing. What follows a slash fio reads over (fio 3.33)."""
    exponent, colon, centre = text.partition(":")
    if colon and centre.strip() != _NO_CENTRE:
        if not re.fullmatch(r"0(\.\d{1,9})?|1(\.0{1,9})?", centre.strip()):
            job.fail(option, f"a centre from 0 to 1, or {_NO_CENTRE} for none")
        job.note("random_distribution", "the centre of the distribution is left out")
    return Zipf(_exponent(job, option, exponent.partition("/")[0] or "1.1"))


def _exponent(job: GivenOptions, option: Option, text: str) -> float:
    if not re.fullmatch(r"\d{1,3}(\.\d{1,9})?", text.strip()) or not 0 < float(text) <= 10:
        job.fail(option, "an exponent above 0, at most 10")
    return float(text)


def _used_zones(job: GivenOptions, reads: str, writes: str) -> str:
    """Those of the reads, or those of the writes where it only writes."""
    if job.only_writes:
        return writes
    if job.writes and writes != reads:
        job.note("random_distribution", "zones of the writes are their own; here the reads' are taken for both")
    return reads


def _shares(job: GivenOptions, option: Option, texts: Sequence[str]) -> list[float]:
    """Per cent as shares; what is left empty gets the rest in equal parts (fio(1), random_distribution)."""
    given = [integer_of(option, text, job.where, 100) / 100 if text.strip() else None for text in texts]
    rest = max(0.0, 1 - sum(share for share in given if share is not None))
    return [rest / given.count(None) if share is None else share for share in given]


def _zones(job: GivenOptions, option: Option, text: str) -> Offsets:
    """Two zones are a hot spot; so are three, when the outer ones are equally busy for their size."""
    pairs = [part.partition("/") for part in text.split(":")]
    accesses = _shares(job, option, [access for access, _, _ in pairs])
    zones = list(zip(accesses, _shares(job, option, [space for _, _, space in pairs]), strict=True))
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
    start, part = _extent(job, "offset") or 0, _part(job, option)
    region = None
    if part is not None and part.endswith("%") and not start and 100 // workers == int(part.removesuffix("%")):
        region = Region()
    if part is not None and not part.endswith("%"):
        region = Region(start, workers * int(part))
    if region is not None:
        job.note("offset_increment", _PARTS)
        _note_distribution(job)
        return region, Starts.APART
    reason = "only equal parts, of this size each, of all the target or of a region become workers that begin apart"
    job.losses.lost(option.where, option.text, reason)
    return _region_of(job), Starts.TOGETHER


def _note_distribution(job: GivenOptions) -> None:
    option, kind, _ = job.pair("random_distribution")
    if option and job.random and kind.partition(":")[0] in {"zipf", "zoned"}:
        reason = "fio has it in the part of each job; here it is one over all parts"
        job.losses.lost(option.where, option.text, reason)


def _part(job: GivenOptions, increment: Option) -> str | None:
    """The part of each file that a job has, as whole per cent or bytes, if the next job's begins at its end."""
    size = job.take("size")
    if size is None or "filesize" in job.options:
        return None
    texts = [option.value.strip() for option in (increment, size)]
    if any(text.endswith("%") for text in texts):
        return texts[0] if texts[0] == texts[1] and re.fullmatch(r"\d{1,3}%", texts[0]) else None
    part, whole = (size_of(option, option.value, job.where, job.kb_base) for option in (increment, size))
    return str(part) if part and part == whole // max(1, len(job.filenames)) else None


def _region_of(job: GivenOptions) -> Region:
    start, length = _extent(job, "offset") or 0, _extent(job, "size")
    file_bytes = _file_bytes(job)
    if file_bytes is not None:
        return Region(start, max(1, file_bytes - start))
    if length and _is_share(job.options["size"]):  # of each of its files, and no further than to its end
        return Region(start, max(1, min(length, job.target_sizes[0] - start)))
    files = len(job.filenames)
    return Region(start, length // files if length and files > 1 else length or None)


def _file_bytes(job: GivenOptions) -> int | None:
    """What `filesize` says of each file, whatever size says; a range of sizes says nothing. Measured with fio 3.33.

    Files without names are one region for us.
    """
    if "filesize" not in job.options or "-" in job.options["filesize"].value:
        return None
    option, files = job.options["filesize"], 1 if job.filenames else max(1, job.number("nrfiles", 1))
    if files > 1:
        job.note("filesize", f"its {files} files become one region")
    job.take("filesize")
    return files * size_of(option, option.value, job.where, job.kb_base) or None


def _extent(job: GivenOptions, name: str) -> int | None:
    option = job.take(name)
    if option is None:
        return None
    return _share_bytes(job, option) if _is_share(option) else size_of(option, option.value, job.where, job.kb_base)


def _is_share(option: Option) -> bool:
    return option.value.strip().endswith("%")


def _share_bytes(job: GivenOptions, option: Option) -> int | None:
    """A share of a target; None stands for all, and for what is lost.

    A size in whole sectors. An offset is the next one that is whole blocks of the job's smallest size, as fio 3.33
    takes it (its log of I/Os): in whole sectors each I/O would straddle two blocks of a device with blocks of 4 KiB.
    """
    share = option.value.strip()
    if share in {"0%", "100%"}:
        return None
    if not job.target_sizes:
        job.losses.lost(option.where, option.text, "a share of a target whose size is not known here")
        return None
    if not re.fullmatch(r"\d{1,2}%", share):
        job.fail(option, f"whole per cent from 0 to 100 for {option.name}")
    if len(job.target_sizes) > 1:
        sizes = " and ".join(map(format_bytes, job.target_sizes[:4]))
        raise MalformedInput(
            f"a {option.name} in bytes, as it runs on volumes that are not equally large ({sizes})", repr(share),
            where=f"{job.where}, {option.where}", hint="Or send it to one of them: --workload VOLUME=FILE.",
        )  # fmt: skip
    parts = int(share.removesuffix("%")) * job.target_sizes[0]
    if option.name == "offset":
        least = min(least_size_of(job, direction) for direction in (0, 1))
        return -(-parts // (100 * least)) * least
    return parts // 100 // _SECTOR_BYTES * _SECTOR_BYTES
