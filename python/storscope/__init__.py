"""storscope: a storage performance workbench. Measure, diagnose, predict, change, verify.

What programs use is listed in `__all__` and described in docs/python.md; the other modules may change. `Duration`,
`Count`, `When`, `Workloads`, `Traces`, `Diagnosable` and `Comparable` are unions of types, of which `help` has nothing
to say: what they take is told by `help` of `simulate`, `simulate_trace`, `diagnose` and `compare`. Whatever a user can
act on is raised as a StorscopeError; its kinds are drawn in domain/errors.py. The rooms and the arrows between them are
drawn in ARCHITECTURE.md.
"""

import importlib
import os
import sys

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
    from storscope.domain.finding import Finding, Severity
    from storscope.domain.workload import Workload
    from storscope.sim.design import Design
    from storscope.workbench.arguments import Duration
    from storscope.workbench.comparing_evidence import Comparable, compare
    from storscope.workbench.diagnosed import Compared, Diagnosed, EvidenceTables
    from storscope.workbench.diagnosing_evidence import Diagnosable, diagnose, import_evidence
    from storscope.workbench.evidence_arguments import When
    from storscope.workbench.simulated import Simulated
    from storscope.workbench.simulating_many import (
        Count,
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
    "Comparable",
    "Compared",
    "ConfigError",
    "Count",
    "DamagedStore",
    "Design",
    "Diagnosable",
    "Diagnosed",
    "Duration",
    "EvidenceTables",
    "Finding",
    "InputError",
    "MalformedInput",
    "MissingTool",
    "NewerStore",
    "NotAStore",
    "QueryError",
    "Severity",
    "Simulated",
    "SimulatedPoint",
    "StoreError",
    "StorscopeError",
    "TargetRefused",
    "Traces",
    "UnknownFormat",
    "UnsafeArchive",
    "UsageError",
    "When",
    "Workload",
    "Workloads",
    "__version__",
    "compare",
    "diagnose",
    "import_evidence",
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
    "Comparable": "workbench.comparing_evidence",
    "Compared": "workbench.diagnosed",
    "Count": "workbench.simulating_many",
    "Design": "sim.design",
    "Diagnosable": "workbench.diagnosing_evidence",
    "Diagnosed": "workbench.diagnosed",
    "Duration": "workbench.arguments",
    "EvidenceTables": "workbench.diagnosed",
    "Finding": "domain.finding",
    "Severity": "domain.finding",
    "Simulated": "workbench.simulated",
    "SimulatedPoint": "workbench.simulating_sweep",
    "Traces": "workbench.simulating_many",
    "When": "workbench.evidence_arguments",
    "Workload": "domain.workload",
    "Workloads": "workbench.simulating_many",
    "compare": "workbench.comparing_evidence",
    "diagnose": "workbench.diagnosing_evidence",
    "import_evidence": "workbench.diagnosing_evidence",
    "load_design": "workbench.simulating_many",
    "simulate": "workbench.simulating_many",
    "simulate_each": "workbench.simulating_many",
    "simulate_sweep": "workbench.simulating_many",
    "simulate_trace": "workbench.simulating_many",
}
"""What `storscope.` offers to programs beside its errors -> the module that has it; imported when it is asked for."""

if not TYPE_CHECKING:  # a checker that sees it takes every name for one of ours

    class _Package(type(os)):
        """The package, whose `diagnose` and `compare` are functions, although rooms have these names, too.

        An import of a module sets the attribute of its package: of a name that is offered it would take the place.
        `from storscope.diagnose import ...` finds the room in any case.
        """

        def __setattr__(self, name, value):
            if name not in _ELSEWHERE or not isinstance(value, type(os)):
                super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Package

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module 'storscope' has no attribute {name!r}")
        return getattr(importlib.import_module(f"storscope.{_ELSEWHERE.get(name, 'domain.errors')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
