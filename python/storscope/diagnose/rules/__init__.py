"""The rules: one module a condition, one line of registration here."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Final

from storscope.diagnose.rule import Rule

_MODULES: Final = (
    "heavy_hitter",
    "noisy_neighbour",
    "load_at_limit",
    "throughput_cap",
    "burst_credits_spent",
    "burst_credits_falling",
    "flush_bound",
    "latency_above_tier",
    "latency_follows_io_size",
    "latency_periodic",
    "spike_in_step",
    "clocks_disagree",
    "iscsi_port_idle",
    "iscsi_binding",
    "iscsi_subnet",
    "iscsi_mtu",
    "round_robin_limit",
    "iscsi_delayed_ack",
    "iscsi_lro",
    "iscsi_login_timeout",
    "component_saturated",
    "controller_imbalance",
    "proxied_operations",
    "ownership_flapping",
    "cache_policy_flood",
    "write_cache_full",
    "data_lost",
    "controller_failed",
    "drive_failed",
    "uneven_drives",
    "member_slow",
    "convoy",
    "path_dead",
    "path_idle",
    "path_slow",
    "host_queue_full",
    "kernel_latency",
    "array_queue_full",
    "commands_aborted",
    "thin_pool_full",
    "media_errors",
    "reservation_conflicts",
    "latency_deteriorated",
    "littles_law",
    "units_suspected",
    "impossible_values",
    "outstanding_mismatch",
)  # fmt: skip


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name, in order of registration."""
    found = (importlib.import_module(f"{__name__}.{module}").RULE for module in _MODULES)
    return {rule.name: rule for rule in found}
