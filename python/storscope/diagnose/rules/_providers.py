"""Whether a provider of clouds may have granted what something does: else what they document is no hint."""

from __future__ import annotations

import re
from collections.abc import Iterable

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef

_OF_HYPERVISORS = frozenset({"vm_disk", "datastore"})
"""What a hypervisor keeps: its storage is an array's, or its own drives."""
_OF_A_SAN = frozenset({"path", "adapter"})
"""Beside devices with paths: an array serves them."""
_OWN_NAME = re.compile(r"(naa|eui|t10|mpx)\..*|mpath\w+|vmhba.*")
"""What ESXi calls devices, and multipath-tools by default."""


def may_be_granted(case: Case, entities: Iterable[EntityRef]) -> bool:
    """False of a hypervisor's VMs and devices, of a SAN's, and of disks that turn; a guest's may be a provider's."""
    listed = list(entities)
    systems = {entity.system for entity in listed}
    beside = {entity.kind for entity in case.entities if entity.system in systems}
    if beside & (_OF_HYPERVISORS | _OF_A_SAN) or any(_OWN_NAME.fullmatch(entity.name) for entity in listed):
        return False
    return not any(_turns(case, entity) for entity in listed)


def _turns(case: Case, entity: EntityRef) -> bool:
    tier = case.tier(entity)
    return tier.name == "disk" and tier.known_from == "a fact in the evidence"
