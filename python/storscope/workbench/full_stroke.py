"""What is said of a drive whose full stroke no measurement showed: its ratio to the mean seek is that of another drive.

Over a whole drive that hardly matters; of the first part alone the mean follows from it (docs/fit.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storscope.sim.catalogue import catalogue
from storscope.sim.fitting import FittedDrive


def assumed_stroke(fitted: FittedDrive, like: str | None) -> str | None:
    """The note on a drive fitted to a grid; nothing where the full stroke is fitted, or where there are no platters."""
    seek = fitted.design.get("seek", {})
    if seek.get("form") != "data_sheet" or any(one["key"] == "seek.full_stroke_ns" for one in fitted.numbers):
        return None
    designs = [entry.form["design"] for entry in catalogue()]
    known = [_ratio(design["seek"]) for design in designs if "seek" in design]
    return (
        f"The full stroke is not fitted: over the average seek it is that of `{like}`, {_ratio(seek):.2f} "
        f"({min(known):.2f} to {max(known):.2f} in the catalogue). Another share of the drive than was measured may be "
        "predicted off by 5 to 12 %. The deviation of latencies at depth 1 shows it; storscope's own sweeps have that."
    )


def _ratio(seek: Mapping[str, Any]) -> float:
    return float(seek["full_stroke_ns"] / seek["average_ns"])
