"""Evaluating every rule on a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule
from storscope.diagnose.thresholds import Thresholds
from storscope.domain.finding import Finding, Outcome


def evaluate(case: Case, rules: Mapping[str, Rule], thresholds: Thresholds) -> list[Outcome]:
    """The outcomes of all rules, in order of registration."""
    case.settings = thresholds.values
    outcomes = [outcome for name, rule in rules.items() for outcome in rule.evaluate(case, thresholds.values[name])]
    return [_marked(case, _completed(case, rules, outcome, outcomes)) for outcome in outcomes]


def _completed(case: Case, rules: Mapping[str, Rule], outcome: Outcome, outcomes: list[Outcome]) -> Outcome:
    """With what its rule says of the outcomes of all."""
    complete = rules[outcome.rule].completed
    return complete(case, outcome, outcomes) if complete is not None and isinstance(outcome, Finding) else outcome


_DERIVED = "; latency: mean queue by rate (Little's law), as the source told none"
_WHOLES = ("host", "array")


def _marked(case: Case, outcome: Outcome) -> Outcome:
    """With the source of its latency told beside its rows, where it is derived."""
    if not isinstance(outcome, Finding) or not case.derived_latency:
        return outcome
    systems = {entity.system for entity in outcome.entities if entity.kind in _WHOLES}
    if not any(one in outcome.entities or one.system in systems for one in case.derived_latency):
        return outcome
    evidence = tuple(
        replace(rows, caption=rows.caption + _DERIVED) if any("latency" in name for name in rows.columns) else rows
        for rows in outcome.evidence
    )
    return replace(outcome, evidence=evidence)
