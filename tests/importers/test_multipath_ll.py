from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.multipath_ll import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import read_tables, read_text

SAMPLES = Path(__file__).parent / "multipath_ll"
TREE = SAMPLES / "tree.txt"
ALL = sorted(SAMPLES.glob("*.txt"))


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_dialect_yields_the_expected_tables(sample: Path) -> None:
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_every_dialect_is_recognised(sample: Path) -> None:
    assert IMPORTER.recognise(Evidence(sample).head) >= 0.9


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\0\xff\xfe", b"lrwxrwxrwx 1 root root 7 Nov 21 mpatha -> ../dm-2\n",
        b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n 253 0 dm-0 1 2 3 4 5 6 7 8 9 10 11\n",
        b"[1:0:0:1]  disk  HP  HSV300  0953  /dev/sdb\n", b"Name (something)\nand text\n",
    ],
)  # fmt: skip
def test_other_text_is_not_recognised(text: bytes) -> None:
    assert IMPORTER.recognise(Head("x", text, "utf-8")) < 0.5


@pytest.mark.parametrize(
    ("sample", "path", "state"),
    [
        ("tree", "1:0:0:1", "active"), ("tree", "1:0:1:1", "dead"), ("tree", "2:0:1:1", "standby"),
        ("tree", "1:0:3:0", "active"), ("tree", "dm-10 lost path 2", "dead"),
        ("rhel5", "1:0:0:0", "dead"), ("rhel5", "0:0:1:0", "standby"), ("rhel5", "0:0:2:0", "active"),
        ("rhel4", "3:0:0:6", "active"),
    ],
)  # fmt: skip
def test_path_states_are_in_our_words(sample: str, path: str, state: str) -> None:
    assert read_tables(IMPORTER, SAMPLES / f"{sample}.txt").facts("path", path)["state"] == state


def test_a_map_carries_its_settings() -> None:
    tables = read_tables(IMPORTER, TREE)
    facts = tables.facts("device", "dm-2")
    assert facts["path_policy"] == "service-time 0"
    assert facts["array_type"] == "HP,HSV300"
    assert float(facts["size_bytes"]) == 500 * 1024**3
    assert (facts["queue_if_no_path"], facts["hwhandler"]) == ("true", "1 alua")
    assert (facts["paths"], facts["paths_dead"]) == ("4", "1")
    labels = {row["entity"]: row["label"] for row in tables.rows("entities")}
    assert labels["dm-2"] == "mpatha"


def test_links_say_what_is_shared() -> None:
    links = read_tables(IMPORTER, TREE).links()
    assert ("path", "2:0:1:1", "leads_to", "device", "dm-2") in links
    assert ("path", "2:0:1:1", "uses", "adapter", "host2") in links
    assert ("path", "2:0:1:1", "same_as", "device", "sdh") in links
    assert ("device", "dm-2", "same_as", "device", "3600508b4000971ca0000a00000a40000") in links


def test_every_path_line_becomes_one_path() -> None:
    for sample in ALL:
        lines = [
            line for line in sample.read_text().splitlines() if (":" in line and " sd" in line) or " nvme0n1" in line
        ]
        lost = sample.read_text().count("#:#:#:#")
        paths = [row for row in read_tables(IMPORTER, sample).rows("entities") if row["kind"] == "path"]
        assert len(paths) == len(lines) + lost


def test_a_map_without_paths_is_kept_and_doubted() -> None:
    tables = read_tables(IMPORTER, TREE)
    assert tables.facts("device", "dm-11")["paths"] == "0"
    assert "array_type" not in tables.facts("device", "dm-11")
    assert any("mpathz has no path" in warning for warning in tables.notes.warnings)


def test_the_old_sizes_with_a_blank() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "rhel4.txt")
    assert float(tables.facts("device", "mpath1")["size_bytes"]) == 10 * 1024**3
    assert float(tables.facts("device", "3600d0230003228bc000339414edb8102")["size_bytes"]) == 512 * 1024**2


def test_noise_is_counted_and_breaks_no_map(tmp_path: Path) -> None:
    lines = TREE.read_text().splitlines()
    noisy = "\n".join(
        line for pair in zip(lines, ["Nov 21 09:14:02 | sdq: checker msg"] * 99, strict=False) for line in pair
    )
    plain, found = read_tables(IMPORTER, TREE), read_text(IMPORTER, noisy, tmp_path)
    assert found.rows("facts") == plain.rows("facts")
    assert sum(found.notes.omitted.values()) == sum(plain.notes.omitted.values()) + len(lines)


def test_the_same_output_twice_is_written_once(tmp_path: Path) -> None:
    text = TREE.read_text()
    assert read_text(IMPORTER, text * 2, tmp_path).rows("facts") == read_tables(IMPORTER, TREE).rows("facts")


def test_line_ends_bom_and_foreign_encoding(tmp_path: Path) -> None:
    text = TREE.read_text()
    expected = read_tables(IMPORTER, TREE).rows("facts")
    for variant in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("latin-1")):
        assert read_text(IMPORTER, variant, tmp_path).rows("facts") == expected


def test_script_in_a_product_name_is_data() -> None:
    assert (
        read_tables(IMPORTER, TREE).facts("device", "dm-12")["array_type"] == "NVME,Sämsung <script>alert(1)</script>"
    )


def test_a_cut_output_keeps_what_was_whole(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, TREE.read_text()[:620], tmp_path)
    assert tables.facts("path", "1:0:0:1")["state"] == "active"


def test_the_system_is_what_the_user_says() -> None:
    rows = read_tables(IMPORTER, TREE, ImportOptions(system="db01")).rows("facts")
    assert {row["system"] for row in rows} == {"db01"}


@pytest.mark.parametrize("text", ["", "DM multipath kernel driver not loaded\n", "\x01\x02 junk"])
def test_what_has_no_map_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="multipath map"):
        read_text(IMPORTER, text, tmp_path)


_TWO_MAPS = """\
360000970000192600123533030334542 dm-4 EMC,SYMMETRIX
size=200G features='0' hwhandler='1 alua' wp=rw
`-+- policy='round-robin 0' prio=50 status=active
  `- 1:0:0:2 sdd 8:48 active ready running
ora data (360000970000192600123533030334541) dm-3 EMC,SYMMETRIX
size=100G features='0' hwhandler='0' wp=rw
`-+- policy='service-time 0' prio=1 status=active
  |- 1:0:0:1 sdb 8:16 active ready running
  `- 2:0:0:1 sdc 8:32 failed faulty running
"""


def test_an_alias_may_have_blanks(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, _TWO_MAPS, tmp_path)
    assert tables.facts("device", "dm-3")["alias"] == "ora data"
    assert tables.facts("path", "2:0:0:1")["state"] == "dead"
    assert tables.facts("device", "dm-4")["paths"] == "1"


def test_paths_below_an_unknown_heading_go_to_no_other_map(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, _TWO_MAPS.replace("ora data (", "ora <data> [x] ("), tmp_path)
    assert tables.facts("device", "dm-4")["paths"] == "1"
    assert tables.notes.omitted["paths of maps whose heading is not understood"] == 2
    assert any("heading is not understood" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
@pytest.mark.parametrize("before", ["    ", "\t", "> ", ">> ", "  > "])
def test_what_a_ticket_or_a_mail_put_before_its_lines_changes_nothing(
    sample: Path, before: str, tmp_path: Path
) -> None:
    text = "".join(f"{before}{line}" for line in sample.read_text().splitlines(keepends=True))
    assert IMPORTER.recognise(Head("ticket", text.encode(), "utf-8")) >= 0.9
    found, plain = read_text(IMPORTER, text, tmp_path), read_tables(IMPORTER, sample)
    assert (found.rows("facts"), found.links()) == (plain.rows("facts"), plain.links())
