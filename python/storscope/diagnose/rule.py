"""What a rule is.

A rule is one module in `rules/` that ends in one value: `RULE = Rule(...)`, named for the condition it finds, not for
its cure. It is registered by one line in `rules/__init__.py`. The module's docstring is its page in the catalogue and
has these sections, each a heading line followed by indented text:

    Looks for / Why it matters / Evidence / When it is wrong / References
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.domain.finding import Finding, Outcome

SECTIONS = ("Looks for", "Why it matters", "Evidence", "When it is wrong", "References")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number a rule compares with. The unit stands at the end of the name; `source` says where it comes from."""

    name: str
    default: float
    meaning: str
    source: str


Settings = Mapping[str, float]
"""The thresholds of one rule in force: name -> value."""


@dataclass(frozen=True)
class Rule:
    """One condition that is looked for."""

    name: str
    """'heavy-hitter': lower case, hyphens."""
    title: str
    """The condition in a few words."""
    evaluate: Callable[[Case, Settings], Sequence[Outcome]]
    """Returns findings, healthy statements, or what evidence it lacks. Never raises for missing evidence."""
    thresholds: tuple[Threshold, ...] = ()
    completed: Callable[[Case, Finding, Sequence[Outcome]], Finding] | None = None
    """Gives a finding of its own what it says of the outcomes of all rules."""

    @property
    def doc(self) -> str:
        """The catalogue page: the docstring of the rule's module."""
        module = inspect.getmodule(self.evaluate)
        return inspect.cleandoc(module.__doc__ or "") if module else ""

    def section(self, heading: str) -> str:
        """The text under one of SECTIONS, unwrapped; empty when there is none."""
        lines: list[str] = []
        inside = False
        for line in self.doc.splitlines():
            if line.strip() in SECTIONS and not line.startswith(" "):
                inside = line.strip() == heading
            elif inside:
                lines.append(line.strip())
        return " ".join(lines).strip()

    def defaults(self) -> dict[str, float]:
        """Every threshold with its default value."""
        return {threshold.name: threshold.default for threshold in self.thresholds}
