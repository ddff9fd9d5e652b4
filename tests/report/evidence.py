"""Evidence and verdicts for tests of the report, made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.verdict import Note, Provenance, Verdict
from storscope.store import Store

START_NS = 1_795_132_800_000_000_000  # 2026-11-20 00:00:00Z
S = 1_000_000_000
HOUR = 3600 * S
DAY = 24 * HOUR


def vdisk(number: int, system: str = "array-a") -> EntityRef:
    return EntityRef(system, "vdisk", f"vol-{number:02d}")


def day_of_volumes(volumes: int = 50, interval_s: int = 20, hours: float = 24) -> Callable[[Recorder], None]:
    """Volumes with a daily rhythm; vol-07 is a hog from 02:00 to 04:10 and all suffer."""

    def write(recorder: Recorder) -> None:
        random = np.random.default_rng(7)
        times = START_NS + np.arange(0, int(hours * 3600), interval_s, dtype=np.int64) * S
        hour = (times - START_NS) / HOUR
        backup = (hour >= 2) & (hour < 4.17)
        rhythm = 0.6 + 0.4 * np.sin((hour - 8) / 24 * 2 * np.pi)
        base = random.lognormal(4.2, 0.8, (volumes, 1))
        ops = base * rhythm * random.lognormal(0, 0.25, (volumes, len(times)))
        if volumes > 7:
            ops[7] = np.where(backup, 5200 * random.lognormal(0, 0.08, len(times)), ops[7])
        load = ops.sum(axis=0)
        latency = 3.2e6 / np.maximum(0.06, 1 - load / 15500) * random.lognormal(0, 0.3, (volumes, len(times)))
        size = random.choice([8192, 16384, 65536], (volumes, 1))
        entities = [vdisk(number) for number in range(volumes)]
        durations = np.full(len(times), interval_s * S, dtype=np.int64)
        recorder.observe_columns(
            entities, times, durations, {"ops_per_s": ops, "bytes_per_s": ops * size, "latency_ns_mean": latency}
        )
        recorder.notes.tool, recorder.notes.tool_version = "evaperf", "9.4"
        recorder.notes.system, recorder.notes.clock = "array-a", "--timezone Europe/Berlin"
        recorder.omit("first sample after boot", volumes)
        recorder.omit("blank cell", 12)
        recorder.warn("The file ends in the middle of a row; the last interval was left out. Copy it again.")

    return write


def hog_finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "rule": "noisy-neighbour", "severity": Severity.CRITICAL, "confidence": 0.93,
        "title": "vol-07 slows 49 other volumes on array-a between 02:00 and 04:10",
        "summary": "vol-07 did 5,210 IOPS, 81 % of all operations, while the others' mean latency rose from 4.31 ms to "
        "31.8 ms. Its load explains 74 % of their latency's variance (95 % interval 69 to 78 %), their own load 3 %.",
        "why": "49 volumes wait for one. Their users see the array as slow although they ask little of it.",
        "innocent": "A backup that is planned for the night and ends before anyone works.",
        "check": "Ask who owns vol-07 what runs from 02:00 to 04:10, and whether it may be slower.",
        "remedy": "Move vol-07 to a disk group of its own, limit it to 1,500 IOPS, or start its backup after 22:00.",
        "source": "Share of variance above 50 %: ours, checked against recorded incidents.",
        "entities": (vdisk(7), vdisk(3), EntityRef("array-a", "disk_group", "group 1")),
        "start_ns": START_NS + 2 * HOUR, "end_ns": START_NS + 4 * HOUR + 600 * S,
        "evidence": (
            EvidenceRows(
                "Load and latency in the bad window",
                ("entity", "ops_per_s", "bytes_per_s", "latency_ns_mean", "queue_depth_mean", "share_of_operations"),
                (("vol-07", 5210.4, 85e6, 31.8e6, 165.7, 0.81), ("vol-03", 61.2, 1.2e6, 32.9e6, 2.01, 0.0095),
                 ("vol-12", 44.0, 0.9e6, None, None, 0.0068)),
                "SELECT entity, avg(ops_per_s) AS ops_per_s FROM observations WHERE system = 'array-a' GROUP BY entity",
                50,
            ),
        ),
        "weight": 0.74, "numbers": {"explained_ratio": 0.74},
    }  # fmt: skip
    return Finding(**(values | changes))


def knee_finding() -> Finding:
    return hog_finding(
        rule="load-at-limit", severity=Severity.WARNING, confidence=0.71, title="vol-07 is at its limit of 4,900 IOPS",
        summary="Latency rises steeply above 4,900 IOPS (95 % interval 4,700 to 5,120). The load was above it for 2 h "
        "05 min of the day.",
        entities=(vdisk(7),), evidence=(),
        numbers={"knee_ops_per_s": 4900.0, "knee_low": 4700.0, "knee_high": 5120.0},
    )  # fmt: skip


def verdict_of(store: Store, *findings: Finding, **changes: Any) -> Verdict:
    values: dict[str, Any] = {
        "findings": findings,
        "healthy": (
            Healthy("controller-imbalance", "Both controllers carry the load: 52 % and 48 % of operations."),
            Healthy("host-queue-full", "No host queue was full in 24 h."),
            Healthy("path-dead", "All 16 paths are active."),
            Healthy("latency-above-tier", "Latency of 8 volumes of array-a is within its tier."),
        ),
        "not_evaluated": (
            NotEvaluated("uneven-drives", "queue depth per disk (EVAperf pd)"),
            NotEvaluated("drive-hot-spot", "queue depth per disk (EVAperf pd)"),
            NotEvaluated("iscsi-port-idle", "sent packets of two bound ports (esxcli iscsi networkportal list)"),
        ),
        "start_ns": START_NS, "end_ns": START_NS + DAY,
        "bad_windows": {"array-a": [(START_NS + 2 * HOUR, START_NS + 4 * HOUR + 600 * S)]},
        "provenance": Provenance(
            storscope_version="0.1.0", host="workstation", made_at_ns=START_NS + 30 * HOUR, store=str(store.path.name),
            captures=store.captures(), thresholds={"noisy-neighbour": {"explained_ratio_min": 0.5, "rows_min": 30}},
            overridden=("noisy-neighbour.rows_min",),
            notes=(Note("array-a's clock was moved by 3 s to meet host-1's."),),
        ),
    }  # fmt: skip
    return Verdict(**(values | changes))


def whole_verdict(store: Store) -> Verdict:
    """A verdict with a bit of everything."""
    info = hog_finding(
        rule="daily-pattern", severity=Severity.INFO, confidence=0.55, weight=0.2, evidence=(),
        title="Load follows the working day", summary="Load is highest at 14:00 and lowest at 02:00, every day.",
        start_ns=None, end_ns=None, entities=(vdisk(1),),
    )  # fmt: skip
    return verdict_of(store, hog_finding(), knee_finding(), info)


def written(path: Path, verdict: Verdict, store: Store) -> str:
    from storscope.report import write_report  # noqa: PLC0415

    write_report(verdict, store, path)
    return path.read_text("utf-8")
