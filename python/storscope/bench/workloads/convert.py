"""Writes a definition in a form by its name."""

from __future__ import annotations

from collections.abc import Sequence

from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.fio_write import FioRun, write_fio
from storscope.bench.workloads.icf_write import write_icf
from storscope.bench.workloads.loss import Loss
from storscope.bench.workloads.toml_write import write_toml
from storscope.domain.errors import UsageError


def convert_to(definition: Definition, form: str, targets: Sequence[str] = ()) -> tuple[str, tuple[Loss, ...]]:
    """The text in the form 'icf', 'fio' or 'toml', and what it cannot say. `targets` take variables' place in fio."""
    if form == "fio":
        return write_fio(definition, FioRun(targets=tuple(targets)))
    if form == "icf":
        return write_icf(definition)
    if form == "toml":
        return write_toml(definition)
    raise UsageError("one of the forms icf, fio and toml", repr(form))
