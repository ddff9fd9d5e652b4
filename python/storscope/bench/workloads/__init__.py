"""Workloads: built in, or from Iometer's .icf, fio's job files, TOML and JSON; explained, and converted with losses."""

from storscope.bench.workloads.load import load_workload

__all__ = ["load_workload"]
