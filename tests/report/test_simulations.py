"""What a page says of a simulated run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from storscope.domain.units import format_duration, format_rate, format_ratio
from storscope.report.page import render
from storscope.report.simulations import simulation_views
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.sim.used import used_components
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.report.evidence import day_of_volumes
from tests.sim.designs import SMALL
from tests.support.cases import make_store


def _kept(path: Path, schedule: str = "", text: str = SMALL) -> tuple[Store, Simulated]:
    store = Store.open(path / "store", create=True)
    design = read_design(text, "small.toml", read_schedule(schedule, "s.toml") if schedule else None)
    simulated = simulate(plan_of(design, "oltp", duration="20s"), started_ns=1_795_132_800_000_000_000)
    store_simulation(store, simulated)
    return store, simulated


def test_parts_of_the_time_and_components_are_those_of_the_simulation(tmp_path: Path) -> None:
    store, simulated = _kept(tmp_path)
    (view,) = simulation_views(store)
    assert view.system == "small"
    assert {(row[0], row[1]) for row in view.parts} == {
        (f"{target['host']}/{target['volume']}", direction)
        for target in simulated.array["targets"]
        for direction in ("reads", "writes")
        if sum(part["mean_ns"] for part in target[direction]["parts"])
    }
    assert all("drive" in row[3] for row in view.parts)
    drives = [one for one in simulated.array["components"] if one["kind"] == "drive"]
    assert view.components[0][0] == f"{len(drives)} drives of g"
    used = used_components(simulated.window["components"])
    assert [row[1] for row in view.components] == [format_ratio(one.mean_ratio) for one in used]
    assert view.components[0][2] == f"{format_ratio(used[0].most_ratio)} ({used[0].most_name})"
    assert "controller A" in [row[0] for row in view.components]
    facts = dict(view.facts)
    assert "95 %" in facts["Operations"]
    assert facts["Seed"] == "1"
    assert facts["What bounds it"] == simulated.bottleneck.words
    assert view.design == SMALL


def test_intervals_are_told_as_on_the_terminal(tmp_path: Path) -> None:
    """The throughput of 136 MB/s stood on the page with "0 B/s to 787 MB/s", and a bound of the p99 alone did not."""
    _, simulated = _kept(tmp_path)

    def facts(low: float) -> dict[str, str]:
        estimates = dict(simulated.judgement.estimates)
        estimates["bandwidth"] = replace(estimates["bandwidth"], value=136e6, low=low, high=787e6)
        estimates["p99"] = replace(estimates["p99"], value=45e6, low=38e6, high=None)
        judged = replace(simulated.judgement, estimates=estimates)
        other = Store.open(tmp_path / f"{low:.0f}", create=True)
        store_simulation(other, replace(simulated, judgement=judged))
        return dict(simulation_views(other)[0].facts)

    wide, known = facts(0.0), facts(20e6)
    assert wide["Throughput"] == "136 MB/s (too little data for an interval)"
    assert known["Throughput"] == "136 MB/s (95 %: 20.0 MB/s to 787 MB/s)"
    assert wide["99th percentile"] == "45.0 ms (95 %: at least 38.0 ms)"


def test_times_of_a_page_of_a_simulated_run_are_since_its_start(tmp_path: Path) -> None:
    store, _ = _kept(tmp_path, '[[at]]\ntime = "5 s"\ndrive_fails = { group = "g", index = 0 }\n')
    page = render(diagnose(store), store)
    assert "start + 0 s to 20 s (20 s)" in page
    assert "All times are simulated ones, since the start of the run." in page
    assert "All times are UTC" not in page
    assert "From (UTC)" not in page
    judged = page.partition('id="method"')[0]
    assert "2026-11-20" not in judged
    assert "g/0 at start + 5.00\u00a0s" in page
    assert '"zero":1795132800.0' in page


def test_times_of_a_page_of_a_real_clock_are_in_utc(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", day_of_volumes(3, 600, 4))
    page = render(diagnose(store), store)
    assert "All times are UTC." in page
    assert "2026-11-20 00:00:00Z" in page
    assert '"zero":null' in page


def test_a_run_with_changes_shows_them_with_the_figures_between_them(tmp_path: Path) -> None:
    fails = "".join(
        f'[[at]]\ntime = "{time}"\ndrive_fails = {{ group = "g", index = 0 }}\n' for time in ("5 s", "10 s", "1 h")
    )
    store, simulated = _kept(tmp_path, fails)
    (view,) = simulation_views(store)
    assert [row[1] for row in view.happenings] == [one.sentence for one in simulated.happenings]
    assert [row[0] for row in view.phases][1:] == ["5.00 s"]
    assert view.phases[1][1] == "15 s"
    assert [row[2] for row in view.phases] == [format_rate(one.rate_per_s) for one in simulated.phase_figures]
    assert "drive g/0 fails" in view.phases[1][6]
    assert "the 7 drives of g" in view.phases[1][5]
    page = render(diagnose(store), store)
    assert "Phases between changes" in page
    happened = page.partition("<h4>What happened</h4>")[2].partition("</thead>")[0]
    assert re.findall(r"<th[^>]*>([^<]*)</th>", happened) == ["At", "Event"]
    assert "Each stream on each volume, by phase" in page
    assert [row[:4] for row in view.cells[:2]] == [
        ["esx1/data", "data", "reads", view.phases[0][0]], ["esx1/data", "data", "reads", "5.00 s"],
    ]  # fmt: skip
    shown = simulated.cells_by_phase[0].phases[1]
    assert shown is not None
    assert view.cells[1][4:] == [
        format_rate(shown.rate_per_s), format_duration(shown.mean_ns), format_duration(shown.p99_ns),
    ]  # fmt: skip
    assert len(view.cells) == 2 * len(simulated.cells_by_phase)
    assert "since the run ended at 20\u00a0s" in page


def test_a_rebuild_that_goes_on_at_the_end_is_told_with_how_far_it_is(tmp_path: Path) -> None:
    rebuilt = SMALL.replace("count = 8", "count = 8\nspares = 1")
    rebuilt += '\n[[background]]\nname = "rebuild"\nkind = "rebuild"\ngroup = "g"\n'
    fails = '[[at]]\ntime = "5 s"\ndrive_fails = { group = "g", index = 0 }\n'
    store, simulated = _kept(tmp_path, fails, rebuilt)
    (view,) = simulation_views(store)
    (words,) = simulated.unfinished
    assert view.happenings[-1] == ["at the end", words]
    assert "at this rate all of it takes about " in words


def test_lost_data_is_said_before_the_figures(tmp_path: Path) -> None:
    pair = "".join(f'[[at]]\ntime = "5 s"\ndrive_fails = {{ group = "g", index = {n} }}\n' for n in (0, 1))
    store, _ = _kept(tmp_path, pair)
    page = render(diagnose(store), store)
    assert page.index("Data lost.") < page.index("What bounds it")


def test_what_a_run_is_doubted_for_is_said_before_its_figures(tmp_path: Path) -> None:
    store, simulated = _kept(tmp_path, text=SMALL + '\n[cache]\nwrite = { size = "16 GiB" }\n')
    assert simulated.doubts
    page = render(diagnose(store), store).partition('id="simulation"')[2]
    said = page.partition("<strong>Doubted.</strong> ")[2].partition("</p>")[0]
    assert "The write cache was still filling" in said
    assert page.index("Doubted.") < page.index("What bounds it")


def test_the_page_shows_it_and_other_pages_have_no_such_section(tmp_path: Path) -> None:
    store, _ = _kept(tmp_path)
    page = render(diagnose(store), store)
    assert "Where the time of an operation went" in page
    assert 'href="#simulation"' in page
    measured = make_store(tmp_path / "measured", day_of_volumes(4, 30, 10))
    assert 'id="simulation"' not in render(diagnose(measured), measured)


def test_every_section_of_the_page_is_in_its_menu(tmp_path: Path) -> None:
    store, _ = _kept(tmp_path)
    page = render(diagnose(store), store)
    sections = re.findall(r'<section id="([\w-]+)"', page)
    assert "queue-map" in sections
    assert [name for name in sections if f'href="#{name}"' not in page] == []
