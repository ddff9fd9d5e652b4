"""Designs and schedules are read strictly; what is wrong is named with its file, line and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.assignment import Attachment
from storscope.sim.catalogue import catalogue
from storscope.sim.design import load_design, read_design
from storscope.sim.schedule import Lifetime, load_schedule, read_schedule
from storscope.workbench.simulating_many import simulate_each
from tests.sim.designs import SMALL


def _line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_attachments_are_the_volumes_of_each_host_in_order() -> None:
    design = read_design(SMALL, "small.toml")
    gib = 1024**3
    assert design.attachments == (
        Attachment("esx1", "data", 200 * gib),
        Attachment("esx1", "log", 10 * gib),
        Attachment("esx2", "data", 200 * gib),
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("segment =", "segmnt =", "segment"),
        ('layout = "raid10"', 'layout = "raid11"', "raid10"),
        ("count = 8", "count = 7", "multiple of 2"),
        ('size = "200 GiB"', 'size = "200 TiB"', "group"),
        ('drive = "7200-sata"', 'drive = "7201-sata"', "drive"),
        ('size = "10 GiB"', 'size = "ten GiB"', "size"),
        ('cost_per_op = "20 us"', 'cost_per_op = "-20 us"', "cost_per_op"),
    ],
)
def test_a_wrong_design_is_refused_with_its_line_and_key(old: str, new: str, said: str) -> None:
    text = SMALL.replace(old, new, 1)
    with pytest.raises(ConfigError) as raised:
        read_design(text, "small.toml")
    message = raised.value.message()
    assert said in message
    assert message.startswith(f"small.toml:{_line_of(text, new)}:"), message


def test_a_broken_file_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text('name = "x"\n[[group]\n')
    with pytest.raises(ConfigError, match=r"broken.toml:2"):
        load_design(path)
    with pytest.raises(UsageError, match="No such file"):
        load_design(tmp_path / "missing.toml")
    path.write_bytes(b'name = "\xff"\n')
    with pytest.raises(ConfigError, match="UTF-8"):
        load_design(path)


_SCHEDULE = """\
[[stream]]
name = "hog"
start = "5s"
end = "10 s"

[[at]]
time = "3 s"
drive_fails = { group = "g", index = 2 }

[[stream]]
name = "late"
start = "1m"
"""


def test_a_schedule_says_when_streams_run_and_what_happens_to_the_array(tmp_path: Path) -> None:
    path = tmp_path / "schedule.toml"
    path.write_text(_SCHEDULE)
    schedule = load_schedule(path)
    design = read_design(SMALL, "small.toml", schedule)
    assert design.lifetimes == {"hog": Lifetime(5 * 10**9, 10 * 10**9), "late": Lifetime(60 * 10**9, None)}
    (change,) = design.form["changes"]
    assert (change["time_ns"], change["drive_fails"]) == (3 * 10**9, {"group": "g", "index": 2})


def test_what_is_wrong_in_a_schedule_is_placed_in_the_schedule() -> None:
    text = _SCHEDULE.replace('group = "g"', 'group = "h"')
    with pytest.raises(ConfigError, match=rf"^s.toml:{_line_of(text, 'drive_fails')}:"):
        read_design(SMALL, "small.toml", read_schedule(text, "s.toml"))


def test_changes_of_a_schedule_count_from_its_own_first_one() -> None:
    text = '[[at]]\ntime = "5 s"\ncache_lost = "a"\n\n[[at]]\ntime = 5\ncache_restored = "a"\n'
    design = SMALL + '\n[[at]]\ntime = "1 s"\ndrive_fails = { group = "g", index = 0 }\n'
    with pytest.raises(ConfigError, match=r"^s.toml:6:8: at\[1\].time: expected a duration"):
        read_design(design, "small.toml", read_schedule(text, "s.toml"))


def test_the_line_of_a_key_that_says_the_same_is_one_of_the_schedule() -> None:
    text = '[[at]]\ntime = "5 s"\ntime_ns = 5\ncache_lost = "A"\n'
    with pytest.raises(ConfigError, match=r"^s.toml:3:11: at\[0\].time_ns: .* means the same as time in line 2\."):
        read_design(SMALL, "small.toml", read_schedule(text, "s.toml"))


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("\n[[streams]]\n", "2", "tables"),
        ('\n[[stream]]\nstart = "1s"\n', "2: stream[0].name", "found nothing"),
        ('[[stream]]\nname = "a"\nstart = 5\n', "3: stream[0].start", "unit"),
        ('[[stream]]\nname = "a"\nstart = "5s"\nend = "4s"\n', "4: stream[0].end", "after the start"),
        ('[[stream]]\nname = "b"\n[[at]]\n\n[[stream]]\nname = "a"\nstop = "5s"\n', "7: stream[1].stop", "start"),
        ('[[stream]]\nname = "a"\n[[stream]]\nname = "a"\n', "4: stream[1].name", "once"),
        ('[[stream]]\nname = "a"\nend = "1s"\n[[stream]]\nname = "b"\n', "5: stream[1].name", "start, end or both"),
        ('stream = [{ name = "a" }]\n', "1", "[[stream]]"),
        ('[stream]\nname = "a"\n', "1", "[[stream]]"),
        ("[[at]]\ntime = \n", "2:8", "found nothing"),
        ("[[at]]\ntime = 5 s\n", "2:8", 'stand in quotes: time = "5 s"'),
        ('[[at]]\ntime = "5 s"\ntime = "6 s"\n', "3:1", "each key once, found time again, after line 2"),
        ('[at]\ntime = "5 s"\n', "1", "[[at]]"),
        ('at = [{ time = "5 s", cache_lost = "A" }]\n', "1", "under a line [[at]]"),
        ("\nstream = []\n", "2", "under a line [[stream]]"),
    ],
)
def test_a_wrong_schedule_is_refused_with_its_line_and_key(text: str, place: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_schedule(text, "s.toml")
    message = raised.value.message()
    assert message.startswith(f"s.toml:{place}: expected")
    assert said in message


@pytest.mark.parametrize(
    ("text", "found"), [("", "an empty file"), (" \n\n", "an empty file"), ("# later\n\n", "comments alone")]
)
def test_a_schedule_without_a_table_is_refused_since_nothing_would_change(text: str, found: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"^s.toml: expected tables \[\[at\]\] or \[\[stream\]\], found {found}\."
    ) as raised:
        read_schedule(text, "s.toml")
    assert (
        raised.value.hint == "Write what changes and when, or leave the schedule out: without a table nothing changes."
    )


@pytest.mark.parametrize(("value", "said"), [("9" * 5000, "thousands of digits"), ("[" * 5000, "nested less deeply")])
def test_what_toml_cannot_hold_is_refused_in_words(value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^s.toml: expected TOML .*{said}"):
        read_schedule(f"[[at]]\ntime = {value}\n", "s.toml")


def test_every_drive_of_the_catalogue_has_sources_and_makes_a_design() -> None:
    entries = catalogue()
    assert {"7200-sata", "fata", "10k-sas", "15k-sas", "sata-ssd", "nvme-ssd"} <= {entry.name for entry in entries}
    for entry in entries:
        assert entry.sources
        design = read_design(
            SMALL.replace("7200-sata", entry.name).replace("200 GiB", "1 MiB").replace("10 GiB", "1 MiB"), "x"
        )
        assert design.form["drives"][entry.name] == entry.form["design"]


def test_the_design_and_the_schedule_of_the_documentation_are_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")
    design, limits, _workload, schedule, change, failure = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    read = read_design(design, "docs/simulate.md", read_schedule(schedule, "docs/simulate.md"))
    assert read.lifetimes == {"hog": Lifetime(120 * 10**9, 240 * 10**9)}
    assert len(read.form["changes"]) == 2
    group = 'name = "cloud"\n\n[[group]]\nname = "pool"\ndrive = "nvme-ssd"\ncount = 8\nlayout = "raid10"\n'
    limited = read_design(f"{group}\n{limits}", "docs/simulate.md")
    assert [bool(one["limit"]) for one in (*limited.form["volumes"], *limited.form["hosts"])] == [True, True, True]
    changed = read_design(f"{group}\n{limits}\n{change.replace('hog', 'data')}", "docs/simulate.md")
    assert changed.form["changes"][0]["limits_change"]["limit"]["iops"] == 500
    fails = read_design(design, "docs/simulate.md", read_schedule(failure, "docs/simulate.md")).form["changes"]
    assert fails[0]["controller_fails"] == {"controller": "A", "takeover_ns": 20 * 10**9}
    assert fails[1]["controller_returns"] == "A"


_LINKED = """\
name = "linked"
group = [{ name = "g", drive = "nvme-ssd", count = 8, layout = "raid0" }]
volume = [{ name = "v", group = "g", size = "1 TiB" }]
controller = [{ name = "A" }]
links = { front_end = { preset = "PRESET" } }
host = [{ name = "h", volumes = [{ volume = "v" }] }]
"""


def test_a_links_preset_carries_what_the_documentation_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")
    table = page[page.index("| preset | payload |") :].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    presets = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    rates = [float(rate.replace(",", "")) for row in rows for rate in row[1].removesuffix(" MB/s").split(", ")]
    latencies = [int(us) for row in rows for us in re.findall(r"\d+", row[2]) * (1 if "," in row[2] else 2)]
    assert len(presets) == len(rates) == len(latencies) == 12
    deep, alone = (Workload("r", (Stream(Mix((AccessSpec(256 * 1024),)), Closed(n)),)) for n in (16, 1))
    texts = [_LINKED.replace("PRESET", preset) for preset in presets]
    carried = [run.judgement.estimates["bandwidth"].value / 1e6 for run in simulate_each(texts, deep, duration="1s")]
    assert carried == pytest.approx(rates, rel=0.005)
    means = [run.judgement.estimates["mean"].value / 1e3 for run in simulate_each(texts, alone, duration="1s")]
    (bare,) = simulate_each([_LINKED.replace('front_end = { preset = "PRESET" }', "")], alone, duration="1s")
    own = bare.judgement.estimates["mean"].value / 1e3
    transfer = [256 * 1024 / rate for rate in carried]
    assert [mean - own - took for mean, took in zip(means, transfer, strict=True)] == pytest.approx(latencies, abs=4)


@pytest.mark.parametrize(("redundancy", "width"), [("raid5", 5), ("raid6", 6)])
def test_a_pool_has_the_width_that_the_documentation_says(redundancy: str, width: int) -> None:
    def text(count: int) -> str:
        pool = f'layout = "pool", redundancy = "{redundancy}", count = {count}'
        return _LINKED.replace('layout = "raid0"', pool).replace(", count = 8", "", 1).replace("PRESET", "fc8")

    read_design(text(width), "pool.toml")
    with pytest.raises(ConfigError, match=f"expected {width} to"):
        read_design(text(width - 1), "pool.toml")
