from __future__ import annotations

import re
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storscope.bench.workloads.builtin import builtins
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.toml_form import read_toml
from storscope.bench.workloads.toml_write import write_toml
from storscope.domain.errors import ConfigError, StorscopeError
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Copy,
    HotSpot,
    Mix,
    Open,
    Process,
    RateStep,
    Region,
    Steps,
    ThinkTime,
    Workload,
    Zipf,
)
from tests.bench.workloads.strategies import workloads

TEXT = """\
name = "shop"
source = "measured in November"

[data]
compressible_ratio = "50%"
pool = "8m"

[[stream]]   # customers
name = "pages"
workers = 2
outstanding = 8
think_time = "1.5ms"
offsets = { kind = "hot_spot", access_share = "80%", space_share = 0.2 }
region = { start = "1m", length = "10g" }

[[stream.line]]
size = "8k"
share = 3
read_share = "70%"
delay = "10ms"
burst = 4

[[stream.line]]
size = 512
align = "4k"
reply = "1.5k"

[[stream]]
rate_per_s = 250.5
process = "fixed"
offsets = { kind = "zipf", exponent = 0.99 }
line = [{ size = "4k", random_share = 0 }]

[[stream]]
steps = [{ rate_per_s = 100, duration = "30s" }, { rate_per_s = 200, duration = "1m" }]
[stream.copy]
size = "128k"
destination = 1
destination_start = "2g"
"""


def test_every_key_with_its_unit() -> None:
    workload = read_toml(TEXT).workloads[0]
    pages, fixed, steps = workload.streams
    assert (workload.name, workload.source) == ("shop", "measured in November")
    assert (workload.data.compressible_ratio, workload.data.pool_bytes) == (0.5, 8 * 1024**2)
    assert (pages.name, pages.workers, pages.load) == ("pages", 2, Closed(8))
    assert pages.think_time == ThinkTime(1_500_000, Process.POISSON)
    assert pages.offsets == HotSpot(0.8, 0.2)
    assert pages.region == Region(1024**2, 10 * 1024**3)
    assert pages.access == Mix(
        (
            AccessSpec(8192, 3.0, 0.7, delay_ns=10_000_000, burst=4),
            AccessSpec(512, align_bytes=4096, reply_bytes=1536),
        )
    )
    assert (fixed.load, fixed.offsets) == (Open(250.5, Process.FIXED), Zipf(0.99))
    assert steps.load == Steps((RateStep(100.0, 30 * 10**9), RateStep(200.0, 60 * 10**9)))
    assert steps.access == Copy(128 * 1024, 1, 2 * 1024**3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('size = "8k"', 'size = "8q"', r":17:8: stream\[0\]\.line\[0\]\.size: expected .*8k.*, found '8q'"),
        ('size = "8k"', 'size = "8k"\nsiez = 3', r":18:8: stream\[0\]\.line\[0\]\.siez: .*\n  Did you mean 'size'\?"),
        ('size = "8k"', 'size = "0"', r":17:8: stream\[0\]\.line\[0\]\.size: expected 1 byte to 1 GiB"),
        (
            'size = "8k"',
            "size = 8",
            r':17:8: stream\[0\]\.line\[0\]\.size: .*unit.*, found 8\.\n  8 bytes\? Write "8k" or "8KiB"; "8B" if',
        ),
        (
            'size = "8k"',
            'size = "64"',
            r":17:8: .*which below 512 bytes is needed, found '64'\.\n  64 bytes\? .*\"64k\"",
        ),
        ('reply = "1.5k"', "reply = 4", r':26:9: stream\[0\]\.line\[1\]\.reply: .*\n  4 bytes\? Write "4k"'),
        ('pool = "8m"', "pool = 8", r':6:8: data\.pool: .*\n  8 bytes\? Write "8k"'),
        ('size = "8k"\n', "", r":16:3: stream\[0\]\.line\[0\]\.size: expected a value, found nothing"),
        ('delay = "10ms"', "delay = 10", r":20:9: stream\[0\]\.line\[0\]\.delay: expected a duration with its unit"),
        ('delay = "10ms"', 'delay = "30s2m"', r":20:9: stream\[0\]\.line\[0\]\.delay: .*the larger .*, found '30s2m'"),
        ('read_share = "70%"', 'read_share = "170%"', r":19:14: .*a ratio like"),
        ("share = 3", "share = -3", r":18:9: stream\[0\]\.line\[0\]\.share"),
        ("burst = 4", "burst = 0", r":21:9: stream\[0\]\.line\[0\]\.burst: expected at least one transfer, found 0"),
        ("burst = 4", "burst = true", r":21:9: stream\[0\]\.line\[0\]\.burst: expected an integer"),
        ("outstanding = 8", "outstanding = 8\nrate_per_s = 9", r":8:3: stream\[0\]: expected one of outstanding"),
        (
            "outstanding = 8",
            "outstanding = 8\nprocess = 'fixed'",
            r":12:11: stream\[0\]\.process: expected only with rate",
        ),
        (
            "outstanding = 8",
            "outstanding = 99999",
            r":11:15: stream\[0\]\.outstanding: expected 1 to 32768, found 99999",
        ),
        ("exponent = 0.99", "exponent = -1", r":31:39: stream\[1\]\.offsets\.exponent"),
        ("space_share = 0.2", "space_share = 0.2, exponent = 3", r":13:84: stream\[0\]\.offsets\.exponent"),
        ("destination = 1", "destination = -1", r":38:15: stream\[2\]\.copy\.destination"),
        ("[stream.copy]", "line = []\n[stream.copy]", r"either \[\[stream.line\]\] or"),
        ('name = "shop"', 'name = "shop', r':1:8: expected " at the end .*\n  Write name = "shop"\.'),
        ('name = "shop"\n', "", r"a name, found none"),
        ("[[stream.line]]\nsize = 512", "[stream.line]\nsize = 512", r":23:1: expected each table once, .* line 16"),
        ("line = [{", "line = { size = 1 } #", r":32:8: .*a single table.\n  .* a line \[\[stream.line\]\]"),
        ('compressible_ratio = "50%"', "compressible_ratio = 2", r":5:22: data\.compressible_ratio"),
        ("rate_per_s = 100", "rate_per_s = 0", r":35:25: stream\[2\]\.steps\[0\]\.rate_per_s: expected above 0"),
    ],
)
def test_an_error_names_line_column_and_key(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError, match=message):
        read_toml(TEXT.replace(old, new, 1))


def test_targets_within_a_workload_are_told_where_they_belong() -> None:
    line = 'size = "8k"\n'
    text = f'name = "w"\ntargets = ["a", "b"]\n[[stream]]\noutstanding = 1\n[[stream.line]]\n{line}'
    with pytest.raises(ConfigError, match=r"w.toml:2:\d+: targets: expected targets above a \[\[workload\]\]") as error:
        read_toml(text, "w.toml")
    assert "[[workload.stream]]" in error.value.hint
    stream = f"[[workload.stream]]\noutstanding = 1\n[[workload.stream.line]]\n{line}"
    moved = read_toml(f'targets = ["a", "b"]\n[[workload]]\nname = "w"\n{stream}', "w.toml")
    assert moved.targets == ("a", "b")


@pytest.mark.parametrize(
    ("written", "size"),
    [('"8B"', 8), ('"8 b"', 8), ('"0.25k"', 256), ("512", 512), ('"512"', 512), ("8192", 8192), ("1000", 1000)],
)
def test_a_small_size_with_its_unit_and_a_sector_without_are_taken(written: str, size: int) -> None:
    (line, _) = read_toml(TEXT.replace('size = "8k"', f"size = {written}", 1)).workloads[0].streams[0].access.lines
    assert line.size_bytes == size


def test_large_plain_numbers_are_exact() -> None:
    text = TEXT.replace('length = "10g"', f"length = {2**60 + 1}", 1)
    assert read_toml(text).workloads[0].streams[0].region.length_bytes == 2**60 + 1


def test_nothing_needs_no_unit() -> None:
    (_, line) = read_toml(TEXT.replace('align = "4k"', "align = 0", 1)).workloads[0].streams[0].access.lines
    assert line.align_bytes == 0


@given(workloads())
def test_a_workload_comes_back_equal(workload: Workload) -> None:
    text, losses = write_toml(Definition("x", (workload,)))
    assert read_toml(text).workloads == (workload,)
    assert not losses


@given(
    st.lists(workloads(), min_size=1, max_size=3),
    st.builds(
        Sweep,
        st.lists(st.integers(1, 32_768), max_size=5).map(tuple),
        st.lists(st.integers(1, 100), max_size=3).map(tuple),
        st.just(()),
        st.none() | st.integers(0, 10**15),
        st.none() | st.integers(0, 10**12),
    ),
    st.lists(st.text(max_size=9), max_size=3).map(tuple),
    st.text(max_size=30),
)
def test_a_definition_comes_back_equal(
    found: list[Workload], sweep: Sweep, targets: tuple[str, ...], description: str
) -> None:
    definition = Definition("toml", tuple(found), sweep=sweep, targets=targets, description=description)
    assert read_toml(write_toml(definition)[0]) == definition


@pytest.mark.parametrize("name", builtins())
def test_built_in_workloads_are_examples_to_copy(name: str) -> None:
    workload = builtins()[name].workload
    text = write_toml(Definition("builtin", (workload,)))[0]
    assert tomllib.loads(text)["name"] == name
    assert read_toml(text).workloads == (workload,)


@given(st.text(max_size=200), st.integers(0, len(TEXT)))
@example("\x1f", TEXT.index("]]\n") + 2)
def test_garbage_is_an_error_of_ours_or_a_definition(garbage: str, place: int) -> None:
    try:
        read_toml(TEXT[:place] + garbage + TEXT[place:])
    except StorscopeError as error:
        assert error.message()


def test_the_example_of_the_docs_is_read() -> None:
    page = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    shop, several = (read_toml(block) for block in blocks)
    assert [stream.name for stream in shop.workloads[0].streams] == ["pages", "orders", "nightly"]
    assert several.sweep.outstanding == (1, 4, 16)


def test_the_copy_of_the_page_on_bench_is_read() -> None:
    page = (Path(__file__).parents[3] / "docs" / "bench.md").read_text()
    _, _, section = page.partition("\n## Several targets\n")
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", section.partition("\n## ")[0], re.MULTILINE)
    (copy,) = (read_toml(dedent(block)) for block in blocks if "[[stream]]" in block)
    (stream,) = copy.workloads[0].streams
    assert stream.name == "copying"
