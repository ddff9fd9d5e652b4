"""The verdicts of the bundled examples, against what is known of them from elsewhere."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from storscope.cli.commands.demo import examples_folder
from storscope.domain.finding import Severity
from storscope.domain.units import NS_PER_S, ns_from_datetime
from storscope.domain.verdict import Verdict
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.importing import import_paths


def _verdict(folder: Path, directory: Path) -> Verdict:
    store = Store.open(directory / "store", create=True)
    summary = import_paths(store, [folder])
    assert not summary.failures
    return diagnose(store)


@pytest.fixture(scope="module")
def equallogic(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    return _verdict(examples_folder() / "equallogic", tmp_path_factory.mktemp("equallogic"))


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    return _verdict(examples_folder() / "noisy_neighbour", tmp_path_factory.mktemp("neighbours"))


def test_the_idle_port_comes_first(equallogic: Verdict) -> None:
    first = equallogic.findings[0]
    assert first.rule == "iscsi-port-idle"
    assert first.severity is Severity.CRITICAL
    assert first.numbers["tx_packets_least"] == 52
    assert first.numbers["tx_packets_most"] == 374_175_073
    assert "52 packets" in first.summary
    assert "374,175,073" in first.summary
    assert first.entities[0].name == "vmk2"


def test_dependent_hardware_was_considered_before_the_counters_were_believed(equallogic: Verdict) -> None:
    assert "Dependent-hardware iSCSI" in equallogic.findings[0].summary
    assert "offload" in equallogic.findings[0].innocent


def test_what_is_healthy_is_said_to_be(equallogic: Verdict) -> None:
    said = {item.rule: item.statement for item in equallogic.healthy}
    assert "9000" in said["iscsi-mtu"]
    assert "10.10.3.0/24" in said["iscsi-subnet"]
    assert "one active uplink" in said["iscsi-binding"]


def test_what_is_missing_is_named_with_the_command_that_makes_it(equallogic: Verdict) -> None:
    needs = {item.rule: item.needs for item in equallogic.not_evaluated}
    assert "esxcli iscsi adapter param get" in needs["iscsi-delayed-ack"]
    assert "esxcli system settings advanced list" in needs["iscsi-lro"]


def _truth() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((examples_folder() / "noisy_neighbour" / "truth.json").read_text())
    return found


def _ns(text: str) -> int:
    return ns_from_datetime(dt.datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00"))


def test_the_hog_is_named_first_in_the_window_it_was_there(neighbours: Verdict) -> None:
    hog = _truth()["hog"]
    first = neighbours.findings[0]
    assert first.entities[0].name == hog["volume"]
    assert first.start_ns is not None
    assert first.end_ns is not None
    begin, end = _ns(hog["from"]), _ns(hog["to"])
    common = min(end, first.end_ns) - max(begin, first.start_ns)
    whole = max(end, first.end_ns) - min(begin, first.start_ns)
    assert common / whole > 0.9


def test_the_bad_window_is_the_time_of_the_hog(neighbours: Verdict) -> None:
    [(start, end)] = neighbours.bad_windows["vm"]
    hog = _truth()["hog"]
    assert abs(start - _ns(hog["from"])) < 5 * NS_PER_S
    assert abs(end - _ns(hog["to"])) < 5 * NS_PER_S


def test_the_victims_are_the_three_that_share_the_disk(neighbours: Verdict) -> None:
    finding = next(finding for finding in neighbours.findings if finding.rule == "noisy-neighbour")
    truth = _truth()
    names = {entity.name for entity in finding.entities}
    assert truth["hog"]["volume"] in names
    assert set(truth["victims"]) <= names


def test_nobody_else_is_accused(neighbours: Verdict) -> None:
    hog = _truth()["hog"]["volume"]
    accused = {
        finding.entities[0].name for finding in neighbours.findings
        if finding.rule in {"heavy-hitter", "noisy-neighbour"} and finding.severity > Severity.INFO
    }  # fmt: skip
    assert accused == {hog}


def test_both_forms_of_iostat_and_the_kernel_s_own_counters_agree(tmp_path: Path) -> None:
    """Three readers of one truth: iostat's text and JSON, and /proc/diskstats differenced by us."""
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [examples_folder() / "noisy_neighbour"])
    rows = store.query(
        """SELECT o.entity, c.format, avg(read_ops_per_s) AS reads, avg(read_bytes_per_s) AS bytes,
                  sum(read_ops_per_s * read_latency_ns_mean) / sum(read_ops_per_s) AS latency_ns
           FROM observations o JOIN captures c USING (capture)
           WHERE kind = 'partition' AND entity <> 'loop0p4' GROUP BY ALL ORDER BY ALL"""
    ).to_pylist()
    by_entity: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        by_entity.setdefault(row["entity"], []).append(row)
    assert len(by_entity) == 3
    for entity, found in by_entity.items():
        assert len(found) == 3, entity
        for column in ("reads", "bytes", "latency_ns"):
            values = [row[column] for row in found]
            assert max(values) / min(values) < 1.02, (entity, column, values)
