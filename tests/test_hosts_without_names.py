"""Captures that do not name their host join the one beside them, when there is reason to."""

from __future__ import annotations

import re
from pathlib import Path

from storscope.cli.commands.demo import examples_folder
from storscope.domain.vocabulary import DEFAULT_ESXI_SYSTEM, UNNAMED_SYSTEMS
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.importing import import_paths

IMPORTERS = Path(__file__).parent / "importers"


def _systems(store: Store) -> set[str]:
    return {row["system"] for row in store.query("SELECT DISTINCT system FROM entities").to_pylist()}


def test_captures_of_one_time_and_disk_become_one_host(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    summary = import_paths(store, [examples_folder() / "noisy_neighbour"])
    assert _systems(store) == {"vm"}
    joined = [item for item in summary.imported if any("names no host or" in warning for warning in item.warnings)]
    assert len(joined) == 5


def test_a_common_disk_name_at_another_time_joins_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    import_paths(
        store,
        [IMPORTERS / "iostat_json" / "sysstat_12.6_debian12.json", IMPORTERS / "fio_json" / "fio_3.33_jsonplus.json"],
    )
    assert len(_systems(store) & UNNAMED_SYSTEMS) == 1
    assert "vm" in _systems(store)


ESXTOP = """"(PDH-CSV 4.0) (UTC)(0)","\\\\esx07\\Physical Disk SCSI Device({device})\\Reads/sec"
"11/02/2026 10:00:00","1.00"
"11/02/2026 10:00:05","2.00"
"11/02/2026 10:00:10","3.00"
"""


def test_a_worldwide_name_joins_configuration_text_to_its_host(tmp_path: Path) -> None:
    device = "naa.6090a048007daca3efe4f47da571ad50"
    esxtop = tmp_path / "esxtop.csv"
    esxtop.write_text(ESXTOP.format(device=device))
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [examples_folder() / "equallogic" / "esxcli_storage_nmp_device_list.txt", esxtop])
    assert _systems(store) == {"esx07"}


def _pieces(folder: Path, count: int) -> list[Path]:
    """A text capture of iostat cut between reports, as split, logrotate or an editor leaves it."""
    text = (examples_folder() / "noisy_neighbour" / "iostat.txt").read_text()
    reports = re.split(r"(?m)^(?=2026-\d\d-\d\dT)", text)
    size = -(-len(reports) // count)
    files = [folder / f"iostat.{number}.txt" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text("".join(reports[number * size : (number + 1) * size]))
    return files


def test_pieces_of_one_text_capture_are_of_the_host_that_the_first_names(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, _pieces(tmp_path, 4))
    assert _systems(store) == {"vm"}


def test_a_piece_far_from_the_others_stays_unnamed(tmp_path: Path) -> None:
    first, _, third = _pieces(tmp_path, 3)
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [first, third])
    assert _systems(store) == {"vm", DEFAULT_LINUX_SYSTEM}


def test_a_piece_with_other_devices_stays_unnamed(tmp_path: Path) -> None:
    first, second = _pieces(tmp_path, 2)
    second.write_text(second.read_text().replace("loop0p4", "loop0p5"))
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [first, second])
    assert _systems(store) == {"vm", DEFAULT_LINUX_SYSTEM}


def test_pieces_without_times_adjoin_nothing(tmp_path: Path) -> None:
    for file in (pieces := _pieces(tmp_path, 2)):
        file.write_text(re.sub(r"(?m)^2026-.*\n", "", file.read_text()))
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, pieces)
    assert _systems(store) == {"vm", DEFAULT_LINUX_SYSTEM}


def test_two_hosts_that_fit_leave_it_unnamed(tmp_path: Path) -> None:
    device = "naa.6090a048007daca3efe4f47da571ad50"
    for host in ("esx07", "esx08"):
        (tmp_path / f"{host}.csv").write_text(ESXTOP.format(device=device).replace("esx07", host))
    config = examples_folder() / "equallogic" / "esxcli_storage_nmp_device_list.txt"
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [tmp_path / "esx07.csv", tmp_path / "esx08.csv", config])
    assert DEFAULT_ESXI_SYSTEM in _systems(store)


def test_the_user_s_word_goes_before_any_guess(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [examples_folder() / "noisy_neighbour" / "diskstats.txt"], options=ImportOptions(system="mine"))
    assert _systems(store) == {"mine"}


EVAPERF = "Time,ID,Read Miss Req/s,Read Miss MB/s,Read Miss Latency(ms),Write Req/s,Write MB/s,Online To,Ctlr,Node,Name"
EVA_EVENTS = """\
2010-11-20 21:00:05 Informational Controller B changed Battery Cache policy to write-through
2010-11-20 21:00:25 Warning Virtual disk "VMFS01" moved to Controller A
2010-11-20 21:01:05 Informational Controller B changed Battery Cache policy to write-through
"""


def _evaperf(folder: Path) -> Path:
    """Four virtual disks, all of controller A, in four samples."""
    rows = [
        f"20/11/2010 21:0{minute}:00,{disk},100,1,9,20,0.2,Controller A,{controller},EVA4400-01,"
        rf"\Virtual Disks\VMFS0{disk}\ACTIVE"
        for minute in range(4)
        for disk in range(1, 5)
        for controller in "AB"
    ]
    path = folder / "vd.csv"
    path.write_text("\n".join([EVAPERF, *rows]) + "\n")
    return path


def test_the_log_of_an_array_joins_its_counters_by_a_volume(tmp_path: Path) -> None:
    events = tmp_path / "events.txt"
    events.write_text(EVA_EVENTS)
    store = Store.open(tmp_path / "store", create=True)
    summary = import_paths(store, [_evaperf(tmp_path), events])
    assert _systems(store) == {"EVA4400-01"}
    assert any("names no host or array" in warning for item in summary.imported for warning in item.warnings)


def test_the_controller_that_owns_nothing_is_known_by_its_rows(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    import_paths(store, [_evaperf(tmp_path)])
    found = [outcome for outcome in diagnose(store).findings if outcome.rule == "controller-imbalance"]
    assert [outcome.title for outcome in found] == ["Controller A of EVA4400-01 owns all 4 volumes"]
