"""Whether a system was simulated."""

from __future__ import annotations

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef
from storscope.domain.vocabulary import SIMULATED_FACT


def is_simulated(case: Case, system: str) -> bool:
    """Whether what is known of `system` comes from the simulator."""
    return any(fact.name == SIMULATED_FACT and fact.entity.system == system for fact in case.facts)


def without_it(case: Case, entity: EntityRef) -> str:
    """The check of a simulated culprit, which nobody can pause."""
    return (
        f"Simulate the same without the load of {case.label(entity)}, or with a limited rate of it, and compare the "
        "other volumes of both runs: if they are as slow, it is not the cause."
    )
