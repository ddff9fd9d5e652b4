"""What makers of arrays advise for the host's multipathing and iSCSI, and how to tell whose volume a device is.

A maker is told from the array type plug-in, from the name of a device, or from the IEEE company identifier inside an
`naa.6` name (T10 SPC, NAA IEEE Registered Extended; identifiers in the public IEEE register).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef


@dataclass(frozen=True, slots=True)
class Maker:
    """A family of arrays: how its devices are recognised and what its maker advises. None: no advice known to us."""

    name: str
    array_type: str
    """Pattern over the array type plug-in; 'a^' never matches."""
    label: str
    """Pattern over the device's vendor and model."""
    naa: tuple[str, ...]
    """Beginnings of its devices' names."""
    round_robin_iops: float | None
    advice: str
    """Where the round-robin advice stands."""
    delayed_ack_off: str | None = None
    lro_off: str | None = None
    login_timeout_s: float | None = None
    serves_all_paths: bool = True
    """True when several paths are equally good at once, so that round robin pays."""


_EQL = 'Dell EqualLogic TR1091 "Best Practices for VMware vSphere"'

MAKERS = (
    Maker("EqualLogic", r"VMW_SATP_EQL|DELL_.*EQL", r"EQLOGIC", ("naa.6090a0", "naa.64ed2a"), 3, _EQL,
          delayed_ack_off=_EQL, lro_off=_EQL, login_timeout_s=60),
    Maker("NetApp ONTAP", r"a^", r"NETAPP\b", ("naa.600a0980", "naa.60a98000"), 1,
          "NetApp knowledge base on VMW_PSP_RR with ONTAP"),
    Maker("Pure FlashArray", r"a^", r"PURE\b", ("naa.624a9370",), 1, "Pure Storage, ESXi host configuration guide"),
    Maker("IBM FlashSystem", r"VMW_SATP_SVC", r"IBM\b.*2145", ("naa.60050768",), 1,
          "IBM FlashSystem documentation, VMware ESXi multipathing"),
    Maker("HPE 3PAR", r"a^", r"3PARdata", ("naa.60002ac",), 1,
          "HPE 3PAR VMware ESXi implementation guide (common practice, no citation at hand)"),
    Maker("HP EVA", r"a^", r"HP\b.*HSV", ("naa.600508b4", "naa.6001438"), 1,
          "HP configuration best practices for EVA and vSphere 4 (common practice, no citation at hand)"),
    Maker("active/active", r"VMW_SATP_DEFAULT_AA$", r"a^", (), None,
          "VMware: VMW_SATP_DEFAULT_AA is for arrays that serve a volume through every path"),
)  # fmt: skip
"""Arrays whose advice we know. Add a line for another maker with the document that says so."""

DEFAULT_ROUND_ROBIN_IOPS = 1000
"""What VMW_PSP_RR does when nobody sets it (VMware knowledge base 2069356)."""


def maker_of(case: Case, device: EntityRef) -> Maker | None:
    """Whose volume a device is; None when nothing in the evidence says so or we know no advice."""
    fact = case.fact(device, "array_type")
    said = fact.value if fact is not None else ""
    label = f"{said} {case.label(device)}"
    for maker in MAKERS:
        if re.search(maker.array_type, said) or re.search(maker.label, label) or device.name.startswith(maker.naa):
            return maker
    return None
