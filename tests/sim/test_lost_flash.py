"""A host that loses its flash cache and gets it back empty, as phases, events and words tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

import storscope
from storscope.domain.errors import ConfigError
from storscope.store import Store
from storscope.workbench.cache_filling import doubts_of_reads
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulation_store import store_simulation

_FLASH = ', flash_cache = { size = "16 MiB", parallel = 1 }'
_DESIGN = """\
name = "flash"
[[group]]
name = "g"
drive = "10k-sas"
count = 1
layout = "raid0"
[[volume]]
name = "v"
group = "g"
size = "8 MiB"
[[host]]
name = "esx1"
volumes = [{ volume = "v"FLASH }]
"""
_READS = """\
name = "reads"
[[stream]]
outstanding = 4
line = [{ size = "8k" }]
"""
_LOST = '[[at]]\ntime = "20 s"\nflash_cache_lost = "esx1"\n'
_BACK = '[[at]]\ntime = "25 s"\nflash_cache_restored = "esx1"\n'


def _run(changes: str = _LOST + _BACK, flash: str = _FLASH) -> Simulated:
    text = _DESIGN.replace("FLASH", flash) + changes
    (run,) = storscope.simulate_each([text], _READS, duration="45s")
    return run


def test_meanwhile_it_reads_as_without_flash_and_then_warms_up_anew() -> None:
    run = _run()
    warm, lost, back = (one.rate_per_s or 0.0 for one in run.phase_figures)
    assert lost == pytest.approx(_without_flash(), rel=0.05)
    # 1,024 blocks come from the drive once, the others take 0.1 ms.
    assert warm > 10 * lost < back
    assert [one.words for one in run.happenings] == [
        "host esx1 loses its flash cache: its reads go to the array", "host esx1 has its flash cache again, empty",
    ]  # fmt: skip


def _without_flash() -> float:
    return _run("", "").judgement.estimates["iops"].value


def test_the_store_has_it_as_events_and_says_whose_flash_it_is(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _run())
    found = store.query("SELECT text FROM events WHERE attributes['host'] = 'esx1' ORDER BY time").to_pylist()
    assert [one["text"] for one in found] == [
        "host esx1 loses its flash cache: its reads go to the array", "host esx1 has its flash cache again, empty",
    ]  # fmt: skip


def test_all_reads_count_and_flash_that_is_gone_is_not_told_as_filling() -> None:
    run = _run(_LOST.replace("20 s", "1 s"))
    (target,) = run.array["targets"]
    assert target["flash"]["reads"] == target["submitted"][0]
    assert target["flash"]["is_lost"] and target["flash"]["hits"] < target["flash"]["reads"] / 2
    assert not any("still filling" in doubt for doubt in run.doubts)
    there = {**target, "flash": {**target["flash"], "is_lost": False}}
    assert doubts_of_reads({"cache": None, "targets": [there]}, [8 << 20], keeps_reads=False)


def test_what_comes_after_the_end_is_told_as_that() -> None:
    (idle,) = _run(_LOST.replace("20 s", "2 h")).happenings
    assert idle.sentence.startswith("host esx1 loses its flash cache: nothing happened, since the run ended at 45 s")


def test_a_host_without_flash_has_none_to_lose() -> None:
    with pytest.raises(
        ConfigError, match=r"flash_cache_lost: expected the name of a host with a flash_cache, of which"
    ):
        _run(flash="")
