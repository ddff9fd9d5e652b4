"""What is said of a verdict as a whole, on a terminal and to programs.

Names stay as captures have them: who prints them makes them harmless.
"""

from __future__ import annotations

from collections import Counter

from storscope.domain.finding import Severity
from storscope.domain.verdict import Verdict


def answer(verdict: Verdict) -> str:
    """'CRITICAL: vmk2 carries no iSCSI traffic': the finding that matters most, or what its absence means."""
    if verdict.findings:
        first = verdict.findings[0]
        return f"{first.severity.word.upper()}: {first.title}"
    if not verdict.healthy:
        return "UNDECIDED: this evidence is enough for no rule."
    if not verdict.is_of_storage:
        return "UNDECIDED: the numbers fit together; of the storage itself nothing could be judged."
    if not verdict.is_healthy:
        return "UNDECIDED: how long I/Os take was not judged; what else was looked at is in order."
    judged = {item.rule for item in verdict.healthy}
    rules = judged | {item.rule for item in verdict.not_evaluated}
    return f"HEALTHY in what could be judged: {len(judged)} of {len(rules)} rules."


def counted_outcomes(verdict: Verdict) -> str:
    """'1 critical, 2 warning, 9 healthy, 30 not evaluated'."""
    counts = Counter(finding.severity for finding in verdict.findings)
    parts = [f"{counts[severity]} {severity.word}" for severity in sorted(Severity, reverse=True) if counts[severity]]
    return ", ".join([*parts, f"{len(verdict.healthy)} healthy", f"{len(verdict.not_evaluated)} not evaluated"])
