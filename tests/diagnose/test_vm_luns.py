"""VMs are told to be on a LUN where their loads add up to its own, and what that is good for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from storscope.diagnose.rules import heavy_hitter, noisy_neighbour
from storscope.diagnose.vm_luns import luns_of_vms
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB
from tests.diagnose.days import MS, FloatArray, record
from tests.diagnose.evidence import only_finding
from tests.support.cases import findings, judge, make_case

_COUNT = 300
_VMS = [f"app{number:02}" for number in range(8)]
_LUNS = ["naa.1", "naa.2"]
_LOUD = (np.arange(_COUNT) // 40) % 3 == 1


def _host(
    loads: FloatArray, *, left_out: float = 0.0, latency_ms: FloatArray | float = 1.0
) -> Callable[[Recorder], None]:
    """VMs of a host, the first four on one LUN and the others on another; each LUN has more by a part `left_out`."""
    own_ms = np.broadcast_to(latency_ms, loads.shape)

    def write(recorder: Recorder) -> None:
        _record(recorder, "vm", _VMS, loads, own_ms)
        sums = np.stack([loads[:4].sum(axis=0), loads[4:].sum(axis=0)]) * (1 + left_out)
        means = np.stack([(loads * own_ms)[:4].sum(axis=0), (loads * own_ms)[4:].sum(axis=0)]) * (1 + left_out) / sums
        _record(recorder, "device", _LUNS, sums, means)

    return write


def _record(recorder: Recorder, kind: str, names: list[str], ops: FloatArray, latency_ms: FloatArray) -> None:
    columns = {"ops_per_s": ops, "bytes_per_s": 8 * KIB * ops, "latency_ns_mean": latency_ms * MS}
    record(recorder, columns, names, kind=kind, system="esx", step_s=5, on=None)


def _loads(noise: float = 0.06) -> FloatArray:
    return 100 * np.random.default_rng(3).normal(1, noise, (len(_VMS), _COUNT))


def _vm(name: str) -> EntityRef:
    return EntityRef("esx", "vm", name)


def test_vms_whose_loads_add_up_to_a_lun_are_on_it(tmp_path: Path) -> None:
    found = luns_of_vms(make_case(tmp_path, _host(_loads())), "esx")
    assert {vm.name: [one.name for one in below] for vm, below in found.items()} == {
        name: [_LUNS[number // 4]] for number, name in enumerate(_VMS)
    }


def test_where_a_part_of_the_load_is_nobodys_nothing_is_said(tmp_path: Path) -> None:
    assert luns_of_vms(make_case(tmp_path, _host(_loads(), left_out=0.3)), "esx") == {}


def test_steady_loads_add_up_by_chance(tmp_path: Path) -> None:
    """Any four of eight that do the same make up the load of the LUN."""
    assert luns_of_vms(make_case(tmp_path, _host(np.full((8, _COUNT), 100.0))), "esx") == {}


def test_links_that_say_where_a_vm_is_are_not_added_to(tmp_path: Path) -> None:
    def link(recorder: Recorder) -> None:
        for name in _VMS:
            recorder.link(_vm(name), "lives_on", EntityRef("esx", "datastore", "ds1"))

    assert luns_of_vms(make_case(tmp_path, _host(_loads()), link), "esx") == {}


def _hog() -> Callable[[Recorder], None]:
    loads = _loads()
    loads[2, _LOUD] *= 36
    latency = np.ones(loads.shape)
    latency[:4, _LOUD] = 28 * np.random.default_rng(5).normal(1, 0.1, (4, int(_LOUD.sum())))
    return _host(loads, latency_ms=latency)


def test_the_noisy_vm_is_named_by_the_lun_that_it_shares(tmp_path: Path) -> None:
    """It stayed information: "no shared component is known"."""
    finding = only_finding(judge(noisy_neighbour.RULE, make_case(tmp_path, _hog())))
    assert finding.title == "VM app02 slows down 3 other VMs"
    assert finding.severity is Severity.CRITICAL
    assert "They share device naa.1" in finding.summary


def test_the_load_of_a_vm_is_not_told_again_as_that_of_its_lun(tmp_path: Path) -> None:
    [finding] = findings(heavy_hitter.RULE, make_case(tmp_path, _hog()))
    assert tuple(finding.entities) == (_vm("app02"), EntityRef("esx", "device", "naa.1"))
    assert "The same load is seen at device naa.1" in finding.summary
