"""storscope: a storage performance workbench. Measure, diagnose, predict, change, verify.

The rooms and the arrows between them are drawn in ARCHITECTURE.md.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from storscope.workbench.simulating_many import simulate_each, simulate_trace
    from storscope.workbench.simulating_many import simulate_tables as simulate

__all__ = ["__version__", "simulate", "simulate_each", "simulate_trace"]

__version__ = "0.1.0"

# Arrow's own allocator keeps what was freed: importing 105 MB of wide CSV peaks at 250 MB with it and at 190 MB with
# the system's, no slower (benches/wide_csv.py). Arrow reads this when it is first imported; a user's choice stands.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

_LAZY = {"simulate": "simulate_tables", "simulate_each": "simulate_each", "simulate_trace": "simulate_trace"}
"""What `storscope.` offers to programs -> its name in workbench.simulating_many; imported when it is asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'storscope' has no attribute {name!r}")
    return getattr(importlib.import_module("storscope.workbench.simulating_many"), _LAZY[name])


def __dir__() -> list[str]:
    return sorted(__all__)
