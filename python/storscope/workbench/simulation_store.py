"""Keeps a simulation in a store, as a capture of its own."""

from __future__ import annotations

import hashlib
import json
import platform
import time

import storscope
from storscope.domain.recorder import Recorder
from storscope.store import CaptureInfo, Store
from storscope.workbench.simulated import Simulated

FORMAT = "storscope-simulation"
_ID_LENGTH = 16


def store_simulation(store: Store, simulated: Simulated) -> str:
    """Makes a capture of a simulation; returns its name. The same simulation at the same instant makes one capture."""
    plan = simulated.plan
    said = json.dumps(
        [plan.design.form, plan.plan_json(), plan.options_json(simulated.about.started_ns), storscope.__version__]
    ).encode()
    digest = hashlib.sha256(said).hexdigest()
    info = CaptureInfo(
        id=digest[:_ID_LENGTH],
        path=f"simulation of {plan.design.where}",
        sha256=digest,
        size_bytes=len(said),
        format=FORMAT,
        importer_version=1,
        imported_at_ns=time.time_ns(),
        imported_on=platform.node(),
        storscope_version=storscope.__version__,
        options={},
    )
    with store.writer(info) as writer:
        recorder = Recorder(writer.write)
        simulated.record(recorder)
        recorder.finish()
        writer.commit(recorder)
    return info.id
