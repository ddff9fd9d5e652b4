"""The full stroke of a drive where no measurement showed it: what is taken for it, and what is said of that.

Over a whole drive that hardly matters; of the first part alone the mean seek follows from it (docs/fit.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from storscope.sim.catalogue import catalogue
from storscope.sim.fitting import FittedDrive

_MEASURED: Final = (1.55, 1.62, 1.63)
"""Full stroke over average seek, as fitted here, of the drives whose deviation of latencies at depth 1 is published at
github.com/louwrentius/fio-plot: 500 GB SATA (4.03 ms), those of 1 TB in a RAID 10 (3.95 ms), Raptor (2.44 ms). With one
zone in place of sixteen 1.55, 1.64 and 1.67."""
_TYPICAL: Final = sum(_MEASURED) / len(_MEASURED)


def with_measured_stroke(base: dict[str, Any], like: str | None) -> dict[str, Any]:
    """A class of the catalogue with the mean of what was measured; a drive of the catalogue as it is.

    A class has the full stroke of data sheets, 1.88 average seeks of `7200-sata`: longer than that of any drive that
    was measured.
    """
    seek = base.get("seek", {})
    if seek.get("form") != "data_sheet" or not _is_class(like):
        return base
    return {**base, "seek": {**seek, "full_stroke_ns": round(seek["average_ns"] * _TYPICAL)}}


def assumed_stroke(fitted: FittedDrive, like: str | None) -> str | None:
    """The note on a drive fitted to a grid; nothing where the full stroke is fitted, or where there are no platters."""
    seek = fitted.design.get("seek", {})
    if seek.get("form") != "data_sheet" or any(one["key"] == "seek.full_stroke_ns" for one in fitted.numbers):
        return None
    designs = [entry.form["design"] for entry in catalogue()]
    known = [_ratio(design["seek"]) for design in designs if "seek" in design]
    measured = f"the mean of three drives that were measured, {min(_MEASURED):.2f} to {max(_MEASURED):.2f};"
    whose = measured if _is_class(like) else f"that of `{like}`;"
    return (
        f"The full stroke is not fitted: over the average seek it is {_ratio(seek):.2f} ({whose} {min(known):.2f} to "
        f"{max(known):.2f} in the catalogue). Another share of the drive than was measured may be predicted off by 5 "
        "to 12 %. The deviation of latencies at depth 1 shows it; storscope's own sweeps have that."
    )


def _is_class(like: str | None) -> bool:
    return any(entry.name == like and entry.title.startswith("class: ") for entry in catalogue())


def _ratio(seek: Mapping[str, Any]) -> float:
    return float(seek["full_stroke_ns"] / seek["average_ns"])
