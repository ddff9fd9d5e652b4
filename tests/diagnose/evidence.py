"""Synthetic evidence for rules: series from arrays, and an iSCSI host with two bound ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S

START_NS = 1_700_000_000 * NS_PER_S
STEP_NS = 20 * NS_PER_S
HOUR_NS = 3600 * NS_PER_S

Writer = Callable[[Recorder], None]
Values = float | Sequence[float] | np.ndarray


def write_series(
    recorder: Recorder, entity: EntityRef, samples: int = 30, *, step_ns: int = STEP_NS, **columns: Values
) -> None:
    """One entity's observations: constants are spread over all intervals."""
    spread = {name: np.broadcast_to(np.asarray(values, dtype=float), (samples,)) for name, values in columns.items()}
    for index in range(samples):
        values = {name: float(array[index]) for name, array in spread.items()}
        recorder.observe(entity, START_NS + index * step_ns, step_ns, values)


def statements(outcomes: Sequence[Outcome]) -> list[str]:
    """The healthy statements."""
    return [outcome.statement for outcome in outcomes if isinstance(outcome, Healthy)]


def needs(outcomes: Sequence[Outcome]) -> list[str]:
    """What the rules say they need."""
    return [outcome.needs for outcome in outcomes if isinstance(outcome, NotEvaluated)]


def only_finding(outcomes: Sequence[Outcome]) -> Finding:
    """The one finding; its title is short enough and its evidence is there."""
    found = [outcome for outcome in outcomes if isinstance(outcome, Finding)]
    assert len(found) == 1, outcomes
    assert len(found[0].title.split()) <= 12, found[0].title
    assert found[0].evidence
    assert found[0].evidence[0].rows
    return found[0]


_DEFAULT_UPLINKS: Mapping[str, str] = {"vmk1": "vmnic7", "vmk2": "vmnic11"}


def iscsi_host(
    *,
    uplinks: Mapping[str, str] = _DEFAULT_UPLINKS,
    standby: Mapping[str, str] | None = None,
    addresses: Mapping[str, str] | None = None,
    portals: Sequence[str] = ("10.10.3.4:3260",),
    port_mtu: Mapping[str, float] | None = None,
    switch_mtu: float | None = 9000,
    nic_mtu: float | None = None,
    adapter_facts: Mapping[str, str | float | bool] | None = None,
    host_facts: Mapping[str, str | float | bool] | None = None,
    device_facts: Mapping[str, str | float | bool] | None = None,
) -> Writer:
    """A host like a published EqualLogic set-up: vmhba36, ports vmk1 and vmk2, one device with two paths."""

    def write(recorder: Recorder) -> None:
        def ref(kind: str, name: str) -> EntityRef:
            return EntityRef("esx", kind, name)

        host, adapter, switch = ref("host", "esx"), ref("adapter", "vmhba36"), ref("vswitch", "vSwitch1")
        for port_name in uplinks:
            port, group = ref("port", port_name), ref("portgroup", f"iSCSI {port_name}")
            recorder.fact(port, "iscsi_bound", True)
            recorder.fact(port, "ip_address", (addresses or {}).get(port_name, f"10.10.3.{55 + int(port_name[3:])}"))
            recorder.fact(port, "netmask", "255.255.255.0")
            recorder.fact(port, "mtu", (port_mtu or {}).get(port_name, 9000))
            recorder.fact(group, "active_uplinks", uplinks[port_name])
            if standby:
                recorder.fact(group, "standby_uplinks", standby.get(port_name, ""))
            recorder.link(port, "uses", adapter)
            recorder.link(port, "member_of", group)
            recorder.link(group, "member_of", switch)
            if nic_mtu is not None:
                recorder.fact(ref("nic", uplinks[port_name]), "mtu", nic_mtu)
        if switch_mtu is not None:
            recorder.fact(switch, "mtu", switch_mtu)
        for portal in portals:
            recorder.fact(host, "target_portal", portal)
        for entity, facts in ((adapter, adapter_facts), (host, host_facts)):
            for name, value in (facts or {}).items():
                recorder.fact(entity, name, value)
        _device(recorder, adapter, device_facts)

    return write


def _device(recorder: Recorder, adapter: EntityRef, facts: Mapping[str, str | float | bool] | None) -> None:
    device = EntityRef("esx", "device", "naa.6090a048007daca3")
    defaults: dict[str, str | float | bool] = {
        "array_type": "VMW_SATP_EQL", "path_policy": "VMW_PSP_RR", "round_robin_iops": 1000, "use_ano": False,
    }  # fmt: skip
    for name, value in (defaults | dict(facts or {})).items():
        recorder.fact(device, name, value)
    for channel in (0, 1):
        path = EntityRef("esx", "path", f"vmhba36:C{channel}:T0:L0")
        recorder.link(path, "leads_to", device)
        recorder.link(path, "uses", adapter)
