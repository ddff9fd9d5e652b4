"""storscope: a storage performance workbench. Measure, diagnose, predict, change, verify.

What programs use is listed in `__all__` and described in docs/python.md; the other modules may change. `Duration`,
`Count`, `Workloads` and `Traces` are unions of types, of which `help` has nothing to say: what they take is told by
`help(storscope.simulate)` and `help(storscope.simulate_trace)`. Whatever a user can act on is raised as a
StorscopeError; its kinds are drawn in domain/errors.py. The rooms and the arrows between them are drawn in
ARCHITECTURE.md.
"""

import importlib
import os

TYPE_CHECKING = False  # checkers take it for that of `typing`, which takes longer to load than all else until main()

if TYPE_CHECKING:
    from storscope.domain.errors import (
        ConfigError,
        DamagedStore,
        InputError,
        MalformedInput,
        MissingTool,
        NewerStore,
        NotAStore,
        QueryError,
        StoreError,
        StorscopeError,
        TargetRefused,
        UnknownFormat,
        UnsafeArchive,
        UsageError,
    )
    from storscope.domain.workload import Workload
    from storscope.sim.design import Design
    from storscope.workbench.simulated import Simulated
    from storscope.workbench.simulating_many import (
        Count,
        Duration,
        Traces,
        Workloads,
        load_design,
        simulate,
        simulate_each,
        simulate_sweep,
        simulate_trace,
    )
    from storscope.workbench.simulating_sweep import SimulatedPoint

__all__ = [
    "ConfigError",
    "Count",
    "DamagedStore",
    "Design",
    "Duration",
    "InputError",
    "MalformedInput",
    "MissingTool",
    "NewerStore",
    "NotAStore",
    "QueryError",
    "Simulated",
    "SimulatedPoint",
    "StoreError",
    "StorscopeError",
    "TargetRefused",
    "Traces",
    "UnknownFormat",
    "UnsafeArchive",
    "UsageError",
    "Workload",
    "Workloads",
    "__version__",
    "load_design",
    "simulate",
    "simulate_each",
    "simulate_sweep",
    "simulate_trace",
]

__version__ = "0.1.0"

# Arrow's own allocator keeps what was freed: importing 105 MB of wide CSV peaks at 250 MB with it and at 190 MB with
# the system's, no slower (benches/wide_csv.py). Arrow reads this when it is first imported; a user's choice stands.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

_ELSEWHERE = {
    "Count": "workbench.simulating_many",
    "Design": "sim.design",
    "Duration": "workbench.simulating_many",
    "Simulated": "workbench.simulated",
    "SimulatedPoint": "workbench.simulating_sweep",
    "Traces": "workbench.simulating_many",
    "Workload": "domain.workload",
    "Workloads": "workbench.simulating_many",
    "load_design": "workbench.simulating_many",
    "simulate": "workbench.simulating_many",
    "simulate_each": "workbench.simulating_many",
    "simulate_sweep": "workbench.simulating_many",
    "simulate_trace": "workbench.simulating_many",
}
"""What `storscope.` offers to programs beside its errors -> the module that has it; imported when it is asked for."""

if not TYPE_CHECKING:  # a checker that sees it takes every name for one of ours

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module 'storscope' has no attribute {name!r}")
        return getattr(importlib.import_module(f"storscope.{_ELSEWHERE.get(name, 'domain.errors')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
