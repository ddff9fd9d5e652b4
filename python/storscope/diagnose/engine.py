"""Evaluating every rule on a case."""

from __future__ import annotations

from collections.abc import Mapping

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule
from storscope.diagnose.thresholds import Thresholds
from storscope.domain.finding import Finding, Outcome


def evaluate(case: Case, rules: Mapping[str, Rule], thresholds: Thresholds) -> list[Outcome]:
    """The outcomes of all rules, in order of registration."""
    case.settings = thresholds.values
    outcomes = [outcome for name, rule in rules.items() for outcome in rule.evaluate(case, thresholds.values[name])]
    return [_completed(case, rules, outcome, outcomes) for outcome in outcomes]


def _completed(case: Case, rules: Mapping[str, Rule], outcome: Outcome, outcomes: list[Outcome]) -> Outcome:
    """With what its rule says of the outcomes of all."""
    complete = rules[outcome.rule].completed
    return complete(case, outcome, outcomes) if complete is not None and isinstance(outcome, Finding) else outcome
