"""What every rule owes its readers, checked over all of them; none is named here."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rule import SECTIONS, Rule
from storscope.diagnose.rules import rules
from storscope.domain.entity import KINDS, EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.schema import CANONICAL
from storscope.domain.units import NS_PER_S
from storscope.domain.vocabulary import EVENTS, FACTS
from tests.support.cases import judge, make_case

_RULES = list(rules().values())
_UNITS = (
    "ns", "s", "ratio", "per_s", "per_h", "bytes", "samples", "disk", "flash", "max", "min", "share", "factor", "count",
    "hours", "days", "level",
)  # fmt: skip
_HOSTILE = 'it\'s "quoted"; <b>--%s{0}'


@pytest.fixture(params=_RULES, ids=lambda rule: rule.name)
def rule(request: pytest.FixtureRequest) -> Rule:
    found: Rule = request.param
    return found


def test_the_name_is_its_modules(rule: Rule) -> None:
    module = inspect.getmodule(rule.evaluate)
    assert module is not None
    assert module.__name__.rsplit(".", 1)[1] == rule.name.replace("-", "_")
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)


@pytest.mark.parametrize("heading", SECTIONS)
def test_the_docstring_answers_every_question(rule: Rule, heading: str) -> None:
    assert len(rule.section(heading)) > 20, f"{rule.name} says nothing under {heading!r}"


def test_the_docstring_opens_with_the_condition(rule: Rule) -> None:
    first = rule.doc.splitlines()[0]
    assert first.endswith(".")
    assert 10 < len(first) <= 120
    assert 10 < len(rule.title) <= 90


def test_thresholds_have_units_meanings_and_sources(rule: Rule) -> None:
    names = [threshold.name for threshold in rule.thresholds]
    assert len(names) == len(set(names))
    for threshold in rule.thresholds:
        assert re.search(r"(^|_)(" + "|".join(_UNITS) + r")(_|$)", threshold.name), threshold.name
        assert len(threshold.meaning) > 10, threshold.name
        assert len(threshold.source) >= 4, threshold.name


_NOT_READ = ("SNMP", "BLG", "SMI-S", "SAN HQ")
"""Sources that the field knows and no importer reads."""


def test_no_evidence_is_asked_for_that_no_importer_reads(rule: Rule, tmp_path: Path) -> None:
    for outcome in judge(rule, make_case(tmp_path)):
        assert isinstance(outcome, NotEvaluated)
        assert not any(name in outcome.needs for name in _NOT_READ)
    evidence = rule.section("Evidence")
    assert not any(name in evidence for name in _NOT_READ) or "no importer reads" in evidence


def test_nothing_is_found_in_an_empty_store(rule: Rule, tmp_path: Path) -> None:
    outcomes = judge(rule, make_case(tmp_path))
    assert outcomes, "a rule always says something, if only what it needs"
    assert all(isinstance(outcome, NotEvaluated) for outcome in outcomes), outcomes
    for outcome in outcomes:
        assert isinstance(outcome, NotEvaluated)
        assert outcome.rule == rule.name
        assert len(outcome.needs) > 10


def _bare(recorder: Recorder) -> None:
    """Entities of every kind with a single null-free row, and facts that are no numbers."""
    for kind in KINDS:
        entity = EntityRef("h", kind, f"{kind} 1")
        recorder.observe(entity, NS_PER_S, NS_PER_S, {"ops_per_s": 0.0})
        for name in FACTS.get(kind, {}):
            recorder.fact(entity, name, "n/a")


def _names(recorder: Recorder) -> None:
    """Everything at once under hostile names: all facts, events and columns, linked in every direction."""
    pairs = [[EntityRef(_HOSTILE, kind, f"{_HOSTILE} {number}") for number in (1, 2)] for kind in KINDS]
    for pair in pairs:
        for number, entity in enumerate(pair):
            for step in range(6):
                recorder.observe(entity, step * NS_PER_S, NS_PER_S, dict.fromkeys(CANONICAL, 5e6 * (number + 1)))
            for name in FACTS.get(entity.kind, {}):
                recorder.fact(entity, name, 7e6 if number else 7.0)
                recorder.fact(entity, name + "_", _HOSTILE)
            for type_ in EVENTS:
                recorder.event(
                    entity, None if number else NS_PER_S, type_, _HOSTILE, value=5e8, attributes={"path": _HOSTILE}
                )
    for sources in pairs:
        for targets in pairs:
            for relation in ("member_of", "uses", "leads_to", "owned_by", "lives_on"):
                recorder.link(sources[0], relation, targets[1])
                recorder.link(sources[1], relation, targets[0])
    recorder.run(_HOSTILE, engine="fio", name=_HOSTILE, system=_HOSTILE, outstanding=7.0)
    recorder.observe(EntityRef(_HOSTILE, "job", _HOSTILE), 0, NS_PER_S, dict.fromkeys(CANONICAL, 9e6), run=_HOSTILE)


def _voids(recorder: Recorder) -> None:
    """Columns that are there for some intervals and entities only, and events without anything but their type."""
    for kind in KINDS:
        for number, name in enumerate(CANONICAL):
            recorder.observe(EntityRef("h", kind, f"{kind}{number % 3}"), number * NS_PER_S, None, {name: 0.0})
        for type_ in EVENTS:
            recorder.event(EntityRef("h", kind, f"{kind}0"), None, type_, "")
    recorder.run("r", engine="fio", name="r", system="h", outstanding=0.0)
    recorder.run("q", engine="fio", name="q", system="h", outstanding=8.0)
    recorder.observe(EntityRef("h", "job", "q"), 0, 0, {"ops_per_s": 0.0, "latency_ns_mean": 0.0}, run="q")


@pytest.mark.parametrize("writer", [_bare, _names, _voids], ids=lambda writer: writer.__name__.strip("_"))
def test_odd_evidence_raises_nothing_and_outcomes_are_whole(
    rule: Rule, writer: Callable[[Recorder], None], tmp_path: Path
) -> None:
    case = make_case(tmp_path, writer)
    outcomes = judge(rule, case)
    assert outcomes
    for outcome in outcomes:
        assert outcome.rule == rule.name
        _check_whole(outcome, case)


def _check_whole(outcome: Outcome, case: Case) -> None:
    match outcome:
        case NotEvaluated():
            assert len(outcome.needs) > 10
            assert "nan" not in outcome.needs.split()
        case Healthy():
            assert outcome.statement.endswith("."), outcome.statement
            assert not re.search(r"\bnan\b", outcome.statement), outcome.statement
        case Finding():
            _check_finding(outcome, case)


def _check_finding(finding: Finding, case: Case) -> None:
    assert isinstance(finding.severity, Severity)
    assert 0 < finding.confidence <= 1
    assert 0 <= finding.weight <= 1
    for name in ("title", "summary", "why", "innocent", "check", "remedy", "source"):
        text = getattr(finding, name)
        assert len(text) > 4, name
        assert not re.search(r"\bnan\b", text), f"{name}: {text}"
    assert not finding.title.endswith(".")
    assert finding.entities
    assert finding.evidence, "a finding shows the rows it rests on"
    for table in finding.evidence:
        again = case.store.query(table.query)
        assert again.num_rows == table.total_rows, "the query beside the rows gives the rows"
        assert again.num_rows, f"{table.caption}: no row supports the finding"
    assert all(math.isfinite(value) for value in finding.numbers.values()), finding.numbers
