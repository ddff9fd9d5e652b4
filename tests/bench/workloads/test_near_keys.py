"""A key that a workload in TOML does not have is refused with what to write: the words of other tools, and slips."""

from __future__ import annotations

import pytest

from storscope.bench.workloads.toml_form import read_toml
from storscope.domain.errors import ConfigError

_STREAM = 'name = "shop"\n{top}\n[[stream]]\noutstanding = 8\n{stream}\n[[stream.line]]\nsize = "4k"\n{line}\n'
_ONE_OF_MANY = '[[workload]]\nname = "a"\nstream = [{ outstanding = 1, line = [{ size = "4k" }] }]\n'
_TARGETS = (
    "Targets are named to the command: storscope bench DIR|FILE|DEVICE; a stream has their numbers, targets = [0]."
)
_READS = 'The share of reads is said, read_share in a [[stream.line]]: "70%" where 30 % are writes.'
_RATE = "Did you mean 'rate_per_s'? It counts I/Os; fio's rate counts bytes."


def _hint(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read_toml(text)
    return str(refused.value).partition("\n  ")[2]


def _asked(*, top: str = "", stream: str = "", line: str = "") -> str:
    return _STREAM.format(top=top, stream=stream, line=line)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("rate = 200", _RATE),
        ("rate_iops = 200", "Did you mean 'rate_per_s'?"),
        ("iorate = 200", "Did you mean 'rate_per_s'?"),
        ("rate-per-s = 200", "Did you mean 'rate_per_s'?"),
        ("iodepth = 8", "Did you mean 'outstanding'?"),
        ("iodpeth = 8", "Did you mean 'outstanding'?"),
        ("Outstanding = 8", "Did you mean 'outstanding'?"),
        ("numjobs = 8", "Did you mean 'workers'?"),
        (
            "threads = 8",
            "Did you mean 'workers'? Each has a queue of its own; vdbench's threads are I/Os in flight: outstanding.",
        ),
        ("thinktime = '5ms'", "Did you mean 'think_time'?"),
        ("bs = '4k'", "Did you mean 'size'? It stands in a [[stream.line]]."),
        ("blocksize = '4k'", "Did you mean 'size'? It stands in a [[stream.line]]."),
        ("read_share = 1", "'read_share' stands in a [[stream.line]]."),
        ("rwmixread = 70", "Did you mean 'read_share'? It stands in a [[stream.line]]."),
        ("rw = 'randwrite'", 'rw = "randwrite" is read_share = 0, random_share = 1, in a [[stream.line]].'),
        ("filename = '/dev/sdx'", _TARGETS),
        (
            "size = '10g'",
            "The size of transfers stands in a [[stream.line]]; the part of a target is region = { length = ... }.",
        ),
        ("verification = 'stamps'", "'verification' stands in the workload, above its streams."),
    ],
)  # fmt: skip
def test_of_a_stream(written: str, hint: str) -> None:
    assert _hint(_asked(stream=written)) == hint


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("bs = '4k'", "Did you mean 'size'?"),
        ("xfersize = '4k'", "Did you mean 'size'?"),
        ("rwmixread = 70", "Did you mean 'read_share'?"),
        ("rdpct = 70", "Did you mean 'read_share'?"),
        ("seekpct = 100", "Did you mean 'random_share'?"),
        ("read_shar = 1", "Did you mean 'read_share'?"),
        ("rwmixwrite = 30", _READS),
        ("write_share = 0.3", _READS),
        ("iodepth = 8", "Did you mean 'outstanding'? It stands in a [[stream]]."),
        ("rate = 200", _RATE.replace("It counts", "It stands in a [[stream]]. It counts")),
        ("elephants = 3", "Known here: size, share, read_share, random_share, delay, burst, align, reply."),
        ("read_share = 70", 'Per cent have their sign, in quotes: "70%".'),
        ("read_share = 170", ""),
    ],
)  # fmt: skip
def test_of_a_line(written: str, hint: str) -> None:
    assert _hint(_asked(line=written)) == hint


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("duration = '30s'", "How long it runs is said to the command: storscope bench ... --duration 30s."),
        ("runtime = 30", "How long it runs is said to the command: storscope bench ... --duration 30s."),
        ("verify = 'stamps'", "Did you mean 'verification'?"),
        ("iodepth = 8", "Did you mean 'outstanding'? It stands in a [[stream]]."),
        ("dedupe_percentage = 30", "Did you mean 'duplicate_ratio'? It stands in [data]."),
    ],
)
def test_of_the_workload(written: str, hint: str) -> None:
    assert _hint(_asked(top=written)) == hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (_asked(stream="region = { offset = '1g', length = '2g' }"), "Did you mean 'start'?"),
        (_asked(stream="region = { start = '1g', size = '2g' }"), "Did you mean 'length'?"),
        (_asked(stream="offsets = { kind = 'zipf', theta = 1.1 }"), "Did you mean 'exponent'?"),
        (_asked().replace("outstanding = 8", "steps = [{ rate = 5, duration = '1s' }]"), _RATE),
        (_asked().replace("outstanding = 8", "steps = [{ runtime = '1s' }]"), "Did you mean 'duration'?"),
        ("[sweep]\niodepth = [1]\n" + _ONE_OF_MANY, "Did you mean 'outstanding'?"),
        ("[sweep]\nramp_time = '1s'\n" + _ONE_OF_MANY, "Did you mean 'ramp_up'?"),
    ],
)  # fmt: skip
def test_of_smaller_tables(text: str, hint: str) -> None:
    assert _hint(text) == hint


def test_a_stream_without_a_load_is_told_both_and_one_with_two_how_to_bound_what_is_in_flight() -> None:
    without = _asked().replace("outstanding = 8\n", "")
    assert _hint(without).startswith("outstanding = 8 keeps 8 I/Os in flight; rate_per_s = 200 has 200 arrive")
    assert "bounded by max_outstanding" in _hint(_asked(stream="rate_per_s = 200"))


@pytest.mark.parametrize(
    ("above", "hint"),
    [
        ('name = "n"\n', "In a file with [[workload]] tables, 'name' stands in each of these."),
        ('verification = "none"\n', "In a file with [[workload]] tables, 'verification' stands in each of these."),
        ("[data]\n", "In a file with [[workload]] tables, each has its own, under a line [workload.data]."),
        (
            "[[stream]]\noutstanding = 1\n",
            "In a file with [[workload]] tables, streams stand below theirs, under lines [[workload.stream]].",
        ),
    ],
)
def test_what_each_of_several_workloads_has_is_not_sent_to_a_stream(above: str, hint: str) -> None:
    """Of a name above them it was said that it stands in a [[stream]], which the file has none of."""
    assert _hint(above + _ONE_OF_MANY) == hint
