"""Keeps a simulation in a store, as a capture of its own."""

from __future__ import annotations

import hashlib
import json

import storscope
from storscope.store import Store
from storscope.workbench.captures import SIMULATION, capture_info, keep
from storscope.workbench.simulated import Simulated


def store_simulation(store: Store, simulated: Simulated) -> str:
    """Makes a capture of a simulation; returns its name. The same simulation at the same instant makes one capture."""
    plan = simulated.plan
    said = json.dumps(
        [plan.design.form, plan.plan_json(), plan.options_json(simulated.about.started_ns), storscope.__version__]
    ).encode()
    info = capture_info(f"simulation of {plan.design.where}", hashlib.sha256(said).hexdigest(), len(said), SIMULATION)
    return keep(store, info, simulated.record)
