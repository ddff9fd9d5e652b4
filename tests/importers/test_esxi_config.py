from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.diagnose.case import Case
from storscope.diagnose.rules.iscsi_port_idle import RULE
from storscope.domain.errors import MalformedInput
from storscope.domain.finding import Finding, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.vocabulary import DEFAULT_ESXI_SYSTEM, FACTS
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import importers
from storscope.sources.importers._esxi_text import option, parse_prompt
from storscope.sources.importers.esxi_config import IMPORTER
from storscope.store import CaptureInfo, Store
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "esxi_config"
EQUALLOGIC = Path(__file__).parents[2] / "examples" / "equallogic"
NAMES = sorted(path.name for path in SAMPLES.glob("*.txt"))
PUBLISHED = sorted(path.name for path in EQUALLOGIC.glob("*.txt"))
ALL = [*(SAMPLES / name for name in NAMES), *(EQUALLOGIC / name for name in PUBLISHED)]
NAA = "naa.6090a048007daca3efe4f47da571ad50"


def fact_values(tables: Tables) -> set[tuple[str, ...]]:
    """Every fact, with runs of spaces in values squeezed."""
    return {
        (row["system"], row["kind"], row["entity"], row["name"], " ".join(row["value"].split()))
        for row in tables.rows("facts")
    }


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), SAMPLES / f"{path.stem}.expected.jsonl")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_a_sample_is_recognised_by_its_content_and_by_no_other_importer(path: Path) -> None:
    head = Evidence(path, "renamed.csv").head
    assert IMPORTER.recognise(head) >= 0.5
    assert [name for name, other in importers().items() if other.recognise(head) >= 0.5] == ["esxi_config"]


# The published case ---------------------------------------------------------------------------------------------------


def store_of(paths: list[Path], directory: Path) -> Store:
    store = Store.open(directory / "store", create=True)
    for number, path in enumerate(paths):
        info = CaptureInfo(f"{number:08x}", path.name, "", path.stat().st_size, IMPORTER.name, 1, 0, "test", "0", {})
        with store.writer(info) as writer:
            recorder = Recorder(writer.write)
            IMPORTER.read(Evidence(path, path.name), recorder, ImportOptions())
            recorder.finish()
            writer.commit(recorder)
    store.forget()
    return store


def test_the_diagnosis_of_the_published_case_is_the_port_that_sent_52_packets(tmp_path: Path) -> None:
    case = Case(store_of([EQUALLOGIC / name for name in PUBLISHED], tmp_path))
    (finding,) = RULE.evaluate(case, {threshold.name: threshold.default for threshold in RULE.thresholds})
    assert isinstance(finding, Finding)
    assert finding.severity is Severity.CRITICAL
    assert "vmk2 has sent 52 packets" in finding.summary
    assert "vmk1 has sent 374,175,073" in finding.summary
    assert "igb has no iSCSI offload" in finding.summary


def test_what_is_in_order_in_the_published_case_can_be_told() -> None:
    switches = read_tables(IMPORTER, EQUALLOGIC / "esxcfg-vswitch_-l.txt")
    ports = read_tables(IMPORTER, EQUALLOGIC / "esxcfg-vmknic_-l.txt")
    assert switches.facts("vswitch", "vSwitch1")["mtu"] == "9000"
    assert switches.facts("portgroup", "iSCSI1")["active_uplinks"] == "vmnic7"
    assert switches.facts("portgroup", "iSCSI2")["active_uplinks"] == "vmnic11"
    assert {ports.facts("port", port)["mtu"] for port in ("vmk1", "vmk2")} == {"9000"}
    assert ("port", "vmk2", "member_of", "portgroup", "iSCSI2") in ports.links()


def test_the_binding_shows_the_mac_of_the_uplink_and_the_port_list_that_of_the_port() -> None:
    binding = read_tables(IMPORTER, EQUALLOGIC / "esxcli_iscsi_networkportal_list.txt").facts("port", "vmk2")
    ports = read_tables(IMPORTER, EQUALLOGIC / "esxcfg-vmknic_-l.txt").facts("port", "vmk2")
    assert binding["uplink_mac_address"] == "00:1b:21:8e:fe:2d"
    assert "mac_address" not in binding
    assert ports["mac_address"] == "00:50:56:71:54:08"


def test_round_robin_limits_and_working_paths_are_read() -> None:
    tables = read_tables(IMPORTER, EQUALLOGIC / "esxcli_storage_nmp_device_list.txt")
    facts = tables.facts("device", NAA)
    assert (facts["path_policy"], facts["round_robin_iops"], facts["use_ano"]) == ("VMW_PSP_RR", "1000", "false")
    assert ("path", "vmhba36:C1:T0:L0", "leads_to", "device", NAA) in tables.links()


# Pasted text ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_lost_alignment_and_indentation_lose_no_fact(name: str, tmp_path: Path) -> None:
    text = (SAMPLES / name).read_text()
    squeezed = "\n".join(" ".join(line.split()) for line in text.splitlines())
    assert fact_values(read_text(IMPORTER, squeezed, tmp_path)) == fact_values(read_tables(IMPORTER, SAMPLES / name))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_doubled_and_lost_blank_lines_lose_no_fact(path: Path, tmp_path: Path) -> None:
    text, expected = path.read_text(), fact_values(read_tables(IMPORTER, path))
    assert fact_values(read_text(IMPORTER, text.replace("\n", "\n\n"), tmp_path)) == expected
    assert fact_values(read_text(IMPORTER, re.sub(r"\n\n+", "\n", text), tmp_path)) == expected


def test_prompts_are_not_needed(tmp_path: Path) -> None:
    text = (SAMPLES / "esxi6_storage.txt").read_text()
    without = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("~ #"))
    assert fact_values(read_text(IMPORTER, without, tmp_path)) == fact_values(
        read_tables(IMPORTER, SAMPLES / "esxi6_storage.txt")
    )


def test_the_order_of_outputs_does_not_matter(tmp_path: Path) -> None:
    text = (SAMPLES / "esxi5_pasted.txt").read_text()
    sections = re.split(r"(?=^\[root@)", text, flags=re.MULTILINE)
    turned = "".join(reversed(sections[1:]))
    uid = {("esx01", "adapter", "vmhba36", "uid")}
    expected = {row for row in fact_values(read_tables(IMPORTER, SAMPLES / "esxi5_pasted.txt")) if row[:4] not in uid}
    assert expected <= fact_values(read_text(IMPORTER, turned, tmp_path))


@pytest.mark.parametrize(
    ("line", "host", "command"),
    [
        ("~ # esxcfg-vmknic -l", None, "esxcfg-vmknic -l"),
        ("/vmfs/volumes # esxcli storage nmp device list", None, "esxcli storage nmp device list"),
        ("[root@esx01:~] esxcli iscsi adapter list", "esx01", "esxcli iscsi adapter list"),
        ("[root@esx01 ~]# esxcfg-nics -l", "esx01", "esxcfg-nics -l"),
        ("[root@localhost:~] esxcfg-nics -l", None, "esxcfg-nics -l"),
        ("root@esx01.example.com:~# esxcfg-nics -l", "esx01.example.com", "esxcfg-nics -l"),
        ("vi-admin@vma:~[esx02]> esxcfg-nics -l", "esx02", "esxcfg-nics -l"),
        ("# esxcfg-vswitch -l", None, "esxcfg-vswitch -l"),
        ("esxcli iscsi networkportal list", None, "esxcli iscsi networkportal list"),
        ("~ #", None, ""),
    ],
)
def test_prompts_are_told_from_output(line: str, host: str | None, command: str) -> None:
    prompt = parse_prompt(line)
    assert prompt is not None
    assert (prompt.host, prompt.command) == (host, command)


@pytest.mark.parametrize("line", ["vmhba36:", "Adapter: vmhba36", "   Vmknic: vmk1", "Portal 0 : 10.10.3.4:3260"])
def test_output_is_no_prompt(line: str) -> None:
    assert parse_prompt(line) is None


def test_options_of_a_command_may_be_quoted_or_have_an_equals_sign() -> None:
    assert option('x -p "VM Network"', "-p", "--portgroup-name") == "VM Network"
    assert option("x --portgroup-name='VM Network'", "-p", "--portgroup-name") == "VM Network"
    assert option("x -p 'unclosed", "-p") == "'unclosed"
    assert option("x -p", "-p") is None


# Single sections ------------------------------------------------------------------------------------------------------


def test_a_port_group_may_look_like_an_address(tmp_path: Path) -> None:
    row = "vmk7 net 10.0.0.1 10.0.0.2 255.255.255.0 00:50:56:00:00:01 9000"
    tables = read_text(IMPORTER, row, tmp_path)
    assert tables.facts("port", "vmk7")["ip_address"] == "10.0.0.2"
    assert ("port", "vmk7", "member_of", "portgroup", "net 10.0.0.1") in tables.links()


def test_standby_uplinks_are_told_from_active_ones_whatever_comes_first() -> None:
    facts = read_tables(IMPORTER, SAMPLES / "esxi5_pasted.txt").facts("portgroup", "iSCSI 10.10.3.0 B")
    assert (facts["active_uplinks"], facts["standby_uplinks"]) == ("vmnic11", "vmnic8")


def test_absent_values_stay_absent_and_counted_zeros_stay_zero() -> None:
    facts = read_tables(IMPORTER, SAMPLES / "esx4_squeezed.txt").facts("port", "vmk2")
    assert facts["tx_packets"] == "0"
    assert "speed_mbit" not in facts
    down = read_tables(IMPORTER, SAMPLES / "esxi5_pasted.txt").facts("nic", "vmnic8")
    assert (down["link_up"], "speed_mbit" in down) == ("false", False)


def test_kinds_of_iscsi_are_told_where_the_driver_tells_them() -> None:
    five = read_tables(IMPORTER, SAMPLES / "esxi5_pasted.txt")
    six = read_tables(IMPORTER, SAMPLES / "esxi6_storage.txt")
    assert five.facts("adapter", "vmhba36")["iscsi_kind"] == "software"
    assert five.facts("adapter", "vmhba40")["iscsi_kind"] == "dependent"
    assert five.facts("adapter", "vmhba36")["delayed_ack"] == "true"
    assert six.facts("adapter", "vmhba34")["iscsi_kind"] == "dependent"
    assert "iscsi_kind" not in six.facts("adapter", "vmhba35")
    assert six.facts("adapter", "vmhba37")["iscsi_kind"] == "independent"
    assert six.notes.omitted["adapter parameters whose adapter is not named"] == 1


def test_a_parameter_without_an_adapter_belongs_to_the_only_iscsi_adapter(tmp_path: Path) -> None:
    text = (
        "Adapter  Driver     State   UID            Description\n"
        "vmhba36  iscsi_vmk  online  iscsi.vmhba36  iSCSI Software Adapter\n"
        "Name        Current  Default  Min  Max  Settable  Inherit\n"
        "DelayedAck  true     true     na   na   true      false\n"
    )
    assert read_text(IMPORTER, text, tmp_path).facts("adapter", "vmhba36")["delayed_ack"] == "true"


def test_a_bound_port_without_a_connection_is_told() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "esxi5_pasted.txt")
    assert tables.facts("port", "vmk1")["iscsi_connections"] == "2"
    assert tables.facts("port", "vmk2")["iscsi_connections"] == "0"
    assert ("port", "vmk2", "uses", "nic", "vmnic11") in tables.links()


def test_devices_carry_size_queue_limit_and_medium() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "esxi6_storage.txt")
    lun = tables.facts("device", "naa.600c0ff00051f5b2a3c0c15b01000000")
    assert (lun["size_bytes"], lun["queue_limit"]) == (str(2 * 1024**4), "64")
    assert "media" not in lun
    assert tables.facts("device", "mpx.vmhba0:C0:T0:L0")["media"] == "hdd"
    assert tables.facts("path", "vmhba3:C0:T0:L6")["state"] == "dead"
    assert tables.facts("path", "vmhba3:C0:T0:L6")["group_state"] == "active unoptimized"


def test_reservation_conflicts_belong_to_the_device_of_the_command() -> None:
    facts = read_tables(IMPORTER, SAMPLES / "esxi5_pasted.txt").facts("device", NAA)
    assert facts["reservation_conflicts"] == "10221"


def test_facts_of_two_hosts_in_one_file_stay_apart(tmp_path: Path) -> None:
    row = "vmk0 Management 10.0.0.{} 255.255.255.0 84:2b:2b:6d:e9:98 1500\n"
    text = "[root@a:~] esxcfg-vmknic -l\n" + row.format(1) + "[root@b:~] esxcfg-vmknic -l\n" + row.format(2)
    addresses = {
        (r["system"], r["value"])
        for r in read_text(IMPORTER, text, tmp_path).rows("facts")
        if r["name"] == "ip_address"
    }
    assert addresses == {("a", "10.0.0.1"), ("b", "10.0.0.2")}


def test_without_a_name_the_host_is_the_users_or_the_common_default(tmp_path: Path) -> None:
    row = "vmk0 Management 10.0.0.1 255.255.255.0 84:2b:2b:6d:e9:98 1500\n"
    assert read_text(IMPORTER, row, tmp_path).notes.system == DEFAULT_ESXI_SYSTEM
    assert read_text(IMPORTER, row, tmp_path, ImportOptions(system="esx9")).notes.system == "esx9"


def test_names_that_rules_read_are_those_of_the_vocabulary() -> None:
    """No near misses: an own name may not differ from the vocabulary's in case or separators only."""

    def bare(name: str) -> str:
        return re.sub(r"[^a-z0-9]", "", name.lower())

    for path in ALL:
        for row in read_tables(IMPORTER, path).rows("facts"):
            known = {bare(name): name for name in FACTS.get(row["kind"], {})}
            assert known.get(bare(row["name"]), row["name"]) == row["name"]


def test_script_text_in_a_name_stays_text(tmp_path: Path) -> None:
    row = "vmk0 <script>alert(1)</script> 10.0.0.1 255.255.255.0 84:2b:2b:6d:e9:98 1500\n"
    assert ("port", "vmk0", "member_of", "portgroup", "<script>alert(1)</script>") in read_text(
        IMPORTER, row, tmp_path
    ).links()


# What is not understood -----------------------------------------------------------------------------------------------


def test_sections_not_understood_are_counted_under_their_first_line() -> None:
    omitted = read_tables(IMPORTER, SAMPLES / "esxi5_pasted.txt").notes.omitted
    assert omitted == {
        "lines not understood, under: Hi all, here is what you asked for": 1,
        "lines not understood, under: uname -a": 1,
    }


def test_reasons_are_bounded_however_much_is_not_understood(tmp_path: Path) -> None:
    row = "vmk0 Management 10.0.0.1 255.255.255.0 84:2b:2b:6d:e9:98 1500\n"
    text = row + "".join(f"nonsense {number}\n\n" for number in range(500))
    omitted = read_text(IMPORTER, text, tmp_path).notes.omitted
    assert len(omitted) <= 41
    assert sum(omitted.values()) == 500


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02" * 99, b"name,value\n1,2\n", b"key: value\nother: value\n"])
def test_what_is_no_esxi_output_is_neither_recognised_nor_read(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "evidence"
    path.write_bytes(content)
    assert IMPORTER.recognise(Evidence(path).head) < 0.5
    with pytest.raises(MalformedInput, match="ESXi command"):
        read_tables(IMPORTER, path)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_line_ends_and_encodings_make_no_difference(path: Path, tmp_path: Path) -> None:
    text, expected = path.read_text(), fact_values(read_tables(IMPORTER, path))
    for other in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        assert fact_values(read_text(IMPORTER, other, tmp_path)) == expected


@given(st.binary(max_size=400))
def test_recognition_never_raises(raw: bytes) -> None:
    assert 0 <= IMPORTER.recognise(Head("x", raw, "utf-8")) <= 1


@given(cut=st.floats(0.05, 0.95))
def test_a_truncated_paste_says_nothing_that_the_whole_does_not(
    cut: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cut between lines: every path, port and device it names is one of the whole; counts only become incomplete."""
    text = (SAMPLES / "esxi6_storage.txt").read_text()
    part = text[: text.rfind("\n", 0, int(len(text) * cut)) + 1]
    if "Path Selection Policy: " in part:
        tables = read_text(IMPORTER, part, tmp_path_factory.mktemp("cut"))
        assert fact_values(tables) <= fact_values(read_tables(IMPORTER, SAMPLES / "esxi6_storage.txt"))


def test_hostile_spaces_and_empty_lines_cost_no_time(tmp_path: Path) -> None:
    row = "vmk0 Management 10.0.0.1 255.255.255.0 84:2b:2b:6d:e9:98 1500\n"
    text = "\n" * 250_000 + row + "Switch Name Num Ports Used Ports\na" + " " * 3_000_000 + "b\n"
    assert IMPORTER.recognise(Head("x", text[: 256 * 1024].encode(), "utf-8")) == 0.9
    assert read_text(IMPORTER, text, tmp_path).facts("port", "vmk0")["mtu"] == "1500"
