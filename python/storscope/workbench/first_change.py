"""What to try where a simulated array had not settled before the first change of the run.

A change that the schedule begins can come later. What ends by then, and what the array does by itself, cannot:
a stream ends later, work that ended begins later, credits that were spent are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.domain.units import format_instant
from storscope.sim.happenings import WORK_WORDS, Happening
from storscope.sim.phases import Phase

_ANY = "Let the first change come later"
_OF_THE_ARRAY = ("credits_spent", "controller_replaced", "task_finished", "volume_moved")
"""What the array does by itself, and may be alone at its instant."""


def later_words(phases: Sequence[Phase]) -> str:
    """What lets the time before the first change be longer, without the full stop; of a run with two phases or more."""
    begins = phases[1].begins
    ends = [one for one in begins if one.kind == "stream_ends"]
    own = [one for one in begins if one.kind in _OF_THE_ARRAY and one.form and not one.form["scheduled"]]
    if len(ends) + len(own) < len(begins):
        return _ANY
    if ends:
        names = " and ".join(one.words.removesuffix(" ends") for one in ends[:2])
        return f"Let {names if len(ends) < 3 else 'its streams'} end later"
    return _of_the_array(own[0])


def _of_the_array(one: Happening) -> str:
    form = one.form or {}
    if one.kind == "task_finished":
        return f"Let the {WORK_WORDS[form['work']]} that ended at {format_instant(one.time_ns)} begin later"
    if one.kind == "credits_spent":
        return f"With burst_left = 0 for {form['limit']} there are no credits, and the rate that lasts is simulated"
    if one.kind == "controller_replaced":
        return f"Let controller {form['controller']} fail later"
    return f"Give volume {form['volume']} to controller {form['to']} from the start (owner)"
