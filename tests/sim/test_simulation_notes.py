"""What the record of a run keeps of what happened."""

from __future__ import annotations

import json

from storscope.domain.units import NS_PER_S
from storscope.sim.happenings import Happening
from storscope.workbench.simulation_notes import notes_of


def test_what_is_left_out_is_counted_and_lost_data_never_is() -> None:
    moves = [Happening(number * NS_PER_S, "volume_moved", f"move {number}") for number in range(300)]
    lost = Happening(300 * NS_PER_S, "data_lost", "data of volume v is lost")
    notes = notes_of([*moves, lost], 7, [])
    told = json.loads(notes["happenings"])
    assert len(told) == 101
    assert told[-1] == {"time_ns": 300 * NS_PER_S, "kind": "data_lost", "words": lost.words}
    assert notes["happenings_left_out"] == str(200 + 7)


def test_of_a_run_in_which_nothing_happened_nothing_is_kept() -> None:
    assert notes_of([], 0, []) == {}
