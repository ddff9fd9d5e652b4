"""What passes the link between two controllers: copies of writes, and operations that hosts sent to the other one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rules._entities import listed
from storscope.diagnose.rules._intervals import mean
from storscope.domain.entity import EntityRef
from storscope.store.series import Series

_COPIES = (
    "Take a faster mirror link or more of them, or send fewer mirrored writes: volumes whose data can be made "
    "again need no mirrored cache. Front-end ports do not help."
)


def remedy_of_full_mirror_link(case: Case, volumes: Mapping[EntityRef, Series]) -> str:
    """What takes load from it. `volumes` are those that may use it, with what they did while it was full."""
    forwarded = {entity: _forwarded_bytes_per_s(series) for entity, series in volumes.items()}
    written = sum(float(np.nan_to_num(mean(series["write_bytes_per_s"]))) for series in volumes.values())
    whole = sum(forwarded.values())
    if not whole > written:
        return _COPIES
    most = sorted((entity for entity, rate in forwarded.items() if rate > 0), key=lambda entity: -forwarded[entity])
    return (
        f"Let hosts use paths to the owner of {listed(case, most)}, or move ownership to the controller that they use: "
        "what is forwarded between the controllers takes most of this link, more than copies of writes. Front-end "
        "ports do not help."
    )


def _forwarded_bytes_per_s(series: Series) -> float:
    """Its operations that were forwarded, taken as large as all; 0 where that is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = series["bytes_per_s"] / series["ops_per_s"]
    return float(np.nan_to_num(mean(series["forwarded_per_s"] * sizes)))
