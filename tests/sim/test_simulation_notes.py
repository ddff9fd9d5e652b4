"""What the record of a run keeps of what happened."""

from __future__ import annotations

import json

from storscope.domain.units import NS_PER_S
from storscope.sim.happenings import Happening
from storscope.workbench.phase_cells import CellByPhase, CellFigures
from storscope.workbench.simulation_notes import cell_notes, notes_of


def test_what_is_left_out_is_counted_and_lost_data_never_is() -> None:
    moves = [Happening(number * NS_PER_S, "volume_moved", f"move {number}") for number in range(300)]
    lost = Happening(300 * NS_PER_S, "data_lost", "data of volume v is lost")
    notes = notes_of([*moves, lost], 7, [])
    told = json.loads(notes["happenings"])
    assert len(told) == 101
    assert told[-1] == {"time_ns": 300 * NS_PER_S, "kind": "data_lost", "words": lost.words}
    assert notes["happenings_left_out"] == str(200 + 7)


def test_of_very_many_streams_in_phases_the_busiest_are_kept_and_the_others_counted() -> None:
    own = CellFigures(100.0, 2e6, 9_000_000)
    cells = [CellByPhase(number, 0, "reads", 1000 - number % 500, (own, None)) for number in range(1000)]
    notes = cell_notes(cells, [f"h/v{number}" for number in range(1000)], ["s"])
    told = json.loads(notes["phase_cells"])
    assert (len(told), notes["phase_cells_left_out"]) == (200, "800")
    assert [one["volume"] for one in told[:2]] == ["h/v0", "h/v1"]
    assert {one["volume"] for one in told[100:]} == {f"h/v{number}" for number in range(500, 600)}
    assert told[0]["phases"] == [{"rate_per_s": 100.0, "mean_ns": 2e6, "p99_ns": 9_000_000}, None]
    assert cell_notes([], [], []) == {}


def test_of_a_run_in_which_nothing_happened_nothing_is_kept() -> None:
    assert notes_of([], 0, []) == {}
