"""The importers: one module a format, one line of registration here.

Modules are loaded when the catalogue is first asked for, so that `storscope --help` does not pay for them.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Final

from storscope.sources.evidence import Head
from storscope.sources.importer import Importer

_MODULES: Final = (
    "esxtop_csv",
    "perfmon_csv",
    "vmware_log",
    "esxi_config",
    "iostat_json",
    "iostat_text",
    "sadf_json",
    "sadf_csv",
    "sar_text",
    "diskstats",
    "node_exporter",
    "prometheus_json",
    "snmp_diskio",
    "nmon",
    "multipath_ll",
    "evaperf_text",
    "evaperf_csv",
    "eva_events",
    "msa_statistics",
    "ontap_rest",
    "eseries_statistics",
    "fio_json",
    "fio_text",
    "fio_terse",
    "fio_log",
    "iometer_csv",
    "diskspd_xml",
    "diskspd_text",
    "vdbench",
    "elbencho_csv",
    "cloudwatch_json",
    "cloudwatch_csv",
    "cloudwatch_rows",
    "cloudwatch_text",
    "azure_monitor",
    "results_table",
    "counter_table",
    "wide_table",
    "long_table",
)  # fmt: skip


_SURE: Final = 0.95
"""From here on no other importer is asked: formats exclude each other, and a wide table is long to look at."""


@cache
def importers() -> dict[str, Importer]:
    """Every importer by name, in order of registration."""
    found = (importlib.import_module(f"{__name__}.{module}").IMPORTER for module in _MODULES)
    return {importer.name: importer for importer in found}


def recognise(head: Head) -> Importer | None:
    """The importer that is surest of the content; None when none is at least half sure."""
    if head.is_binary:
        return None
    best, surest = None, 0.0
    for importer in importers().values():
        sure = importer.recognise(head)
        if sure >= _SURE:
            return importer
        if sure > surest:
            best, surest = importer, sure
    return best if surest >= 0.5 else None
