"""Whether a system was simulated."""

from __future__ import annotations

from storscope.diagnose.case import Case
from storscope.domain.vocabulary import SIMULATED_FACT


def is_simulated(case: Case, system: str) -> bool:
    """Whether what is known of `system` comes from the simulator."""
    return any(fact.name == SIMULATED_FACT and fact.entity.system == system for fact in case.facts)
