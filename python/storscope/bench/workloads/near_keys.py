"""What to write in place of a key that a workload in TOML does not have: the words of fio, Iometer and vdbench.

A word is first looked for in the table where it stands, then in the others. It is an offer and never taken: the same
word asks another thing in each tool (fio's `rate` is bytes per second, vdbench's threads are I/Os in flight).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from storscope.domain.near_names import Words, joined, near_name, same_name

_WORDS: Words = {
    "outstanding": ("iodepth", "io_depth", "depth", "queue_depth", "queuedepth", "qd", "outstanding_ios",
                    "concurrency"),
    "workers": ("numjobs", "num_jobs", "jobs", "nrjobs", "threads", "processes", "worker"),
    "rate_per_s": ("rate", "rate_iops", "iops", "iorate", "io_rate", "rate_limit", "max_iops", "rate_per_sec", "rps"),
    "process": ("rate_process", "arrivals", "arrival_process", "interarrival"),
    "max_outstanding": ("max_iodepth", "max_depth", "max_in_flight"),
    "steps": ("rate_steps", "ramp", "curve"),
    "think_time": ("thinktime", "think", "pause"),
    "offsets": ("random_distribution", "offset_distribution", "hot_spot", "hotspot", "zipf"),
    "region": ("range", "extent"),
    "line": ("lines", "mix", "spec", "specs", "access", "access_spec", "access_specification"),
    "size": ("bs", "blocksize", "block_size", "bsize", "xfersize", "xfer_size", "transfer_size", "io_size", "iosize",
             "request_size", "transfer_request_size", "bssplit", "bsrange"),
    "share": ("weight", "probability", "skew", "percent_of_access_specification"),
    "read_share": ("rwmixread", "rdpct", "read_pct", "readpct", "read_percent", "read_percentage", "read_ratio",
                   "read_mix", "reads", "percent_read"),
    "random_share": ("percentage_random", "seekpct", "random", "rand", "random_pct", "random_percent",
                     "random_percentage", "random_ratio", "percent_random"),
    "delay": ("transfer_delay", "startdelay"),
    "burst": ("burst_length", "thinktime_blocks"),
    "align": ("blockalign", "ba", "alignment", "align_ios_on"),
    "reply": ("reply_size",),
    "destination": ("dest", "to", "dst"),
    "start": ("offset", "begin", "from"),
    "length": ("size", "filesize", "io_limit"),
    "duration": ("runtime", "run_time", "time", "elapsed", "seconds", "length"),
    "ramp_up": ("ramp_time", "ramp", "rampup", "warmup", "warm_up", "ramp_up_time"),
    "kind": ("type", "distribution"),
    "exponent": ("theta", "alpha", "skew"),
    "mean": ("time", "average", "value"),
    "verification": ("verify", "data_validation", "check", "stamps"),
    "compressible_ratio": ("compression", "compratio", "buffer_compress_percentage", "compressible"),
    "duplicate_ratio": ("dedupe", "dedup", "dedupe_percentage", "dedupratio", "duplicates"),
    "duplicate_block": ("dedupunit",),
    "seed": ("randseed", "random_seed", "data_seed"),
    "source": ("description", "comment", "origin"),
    "stream": ("job", "wd"),
    "name": ("label", "title", "id"),
}  # fmt: skip
"""Key -> other words for it, the nearest meaning first where a word stands with two keys."""

_OTHERWISE = {
    **dict.fromkeys(
        ("duration", "runtime", "run_time", "time"),
        "How long it runs is said to the command: storscope bench ... --duration 30s.",
    ),
    **dict.fromkeys(
        ("ramp_time", "ramp_up", "warmup", "warm_up"),
        "The warm-up is found by itself; a ramp-up besides stands in a [sweep] above [[workload]] tables.",
    ),
    **dict.fromkeys(("direct", "buffered"), "storscope goes past the page cache unless the command has --buffered."),
    **dict.fromkeys(("ioengine", "engine"), "What makes the I/Os is said to the command: bench ... --engine."),
    "seed": "The seed of the data stands in [data]; that of the draws is said to the command: --seed.",
    **dict.fromkeys(
        ("filename", "file", "files", "directory", "device", "devices", "path", "lun", "luns", "sd", "target"),
        "Targets are named to the command: storscope bench DIR|FILE|DEVICE; a stream has their numbers, targets = [0].",
    ),
    **dict.fromkeys(
        ("rwmixwrite", "write_share", "write_ratio", "write_pct", "writes"),
        'The share of reads is said, read_share in a [[stream.line]]: "70%" where 30 % are writes.',
    ),
    **dict.fromkeys(
        ("rw", "readwrite", "mode", "pattern"), "Said by read_share and random_share in a [[stream.line]]."
    ),
}
"""What is no key of a workload, and how it is said."""

_BESIDE = {
    "rate": "It counts I/Os; fio's rate counts bytes.",
    "threads": "Each has a queue of its own; vdbench's threads are I/Os in flight: outstanding.",
    **dict.fromkeys(("bssplit", "bsrange"), "Several sizes are several [[stream.line]] tables, each with its share."),
}
"""What to know of a word that does not ask quite the same."""

_MODES = {
    "read": "read_share = 1, random_share = 0", "randread": "read_share = 1, random_share = 1",
    "write": "read_share = 0, random_share = 0", "randwrite": "read_share = 0, random_share = 1",
    "rw": "read_share = 0.5, random_share = 0", "readwrite": "read_share = 0.5, random_share = 0",
    "randrw": "read_share = 0.5, random_share = 1",
}  # fmt: skip
"""fio's modes."""


def hint_for_key(written: str, value: object, known: Collection[str], tables: Mapping[str, Collection[str]]) -> str:
    """What to try in place of a key, in a table of `known`; `tables` are all keys, by what their tables are called."""
    word = joined(written)
    if key := same_name(word, known, _WORDS):
        return _did_you_mean(key, word)
    if word in _OTHERWISE:
        return _as_mode(written, value) or _OTHERWISE[word]
    if word == "size" and "region" in known:
        return "The size of transfers stands in a [[stream.line]]; the part of a target is region = { length = ... }."
    if key := near_name(word, known, _WORDS):
        return _did_you_mean(key, word)
    return _elsewhere(word, tables) or f"Known here: {', '.join(known)}."


def _did_you_mean(key: str, word: str, place: str = "") -> str:
    where = f" It stands in {place}." if place else ""
    return f"Did you mean {key!r}?{where} {_BESIDE.get(word, '')}".rstrip()


def _as_mode(written: str, value: object) -> str:
    """Of a mode of fio's; '' of anything else."""
    shares = _MODES.get(value) if isinstance(value, str) else None
    return f'{written} = "{value}" is {shares}, in a [[stream.line]].' if shares else ""


def _elsewhere(word: str, tables: Mapping[str, Collection[str]]) -> str:
    """Where a key stands that is none here, before another word for one that does; '' for what is none anywhere."""
    for place, known in tables.items():
        if word in known:
            return f"{word!r} stands in {place}."
    for place, known in tables.items():
        if key := same_name(word, known, _WORDS):
            return _did_you_mean(key, word, place)
    return ""
