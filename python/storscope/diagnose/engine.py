"""Evaluating every rule on a case."""

from __future__ import annotations

from collections.abc import Mapping

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule
from storscope.diagnose.thresholds import Thresholds
from storscope.domain.finding import Outcome


def evaluate(case: Case, rules: Mapping[str, Rule], thresholds: Thresholds) -> list[Outcome]:
    """The outcomes of all rules, in order of registration."""
    case.settings = thresholds.values
    return [outcome for name, rule in rules.items() for outcome in rule.evaluate(case, thresholds.values[name])]
