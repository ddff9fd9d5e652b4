"""Columns of arrays that are no floats of 64 bits: their numbers reach the tables all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder

_ENTITY = EntityRef("host", "device", "sda")


def _observed(values: Any, times_ns: Any, durations_ns: Any) -> list[dict[str, Any]]:
    tables: list[pa.Table] = []
    recorder = Recorder(lambda name, batch: tables.append(pa.table(batch)) if name == "observations" else None)
    recorder.observe_columns([_ENTITY], times_ns, durations_ns, {"ops_per_s": values})
    recorder.finish()
    (table,) = tables
    whole = table.set_column(table.schema.get_field_index("time"), "time", table["time"].cast("int64"))
    rows: list[dict[str, Any]] = whole.select(["time", "duration_ns", "ops_per_s"]).to_pylist()
    return rows


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("width", [np.int64, np.int32, np.uint32])
def test_numbers_of_any_type_are_kept(kind: type[np.number[Any]], width: type[np.number[Any]]) -> None:
    rows = _observed(np.array([[7, 9]], kind), np.array([5, 15], width), np.array([10, 10], width))
    assert rows == [
        {"time": 5, "duration_ns": 10, "ops_per_s": 7.0}, {"time": 15, "duration_ns": 10, "ops_per_s": 9.0},
    ]  # fmt: skip


def test_times_with_fractions_are_refused() -> None:
    with pytest.raises(TypeError):
        _observed(np.array([[7.0]]), np.array([5.5]), np.array([10]))


@pytest.mark.parametrize("value", [2.0**63, -(2.0**63), 1e200])
def test_what_nothing_can_have_measured_is_counted_and_left_out(value: float) -> None:
    """Products of such numbers were infinite, and a traceback where a workload was derived of them."""
    rows: list[dict[str, Any]] = []

    def keep(name: str, batch: pa.RecordBatch) -> None:
        rows.extend(pa.table(batch).to_pylist() if name == "observations" else [])

    recorder = Recorder(keep)
    recorder.observe(_ENTITY, 5000, 10, {"ops_per_s": value, "busy_ratio": 0.5})
    recorder.observe(_ENTITY, 15000, 10, {"ops_per_s": value})
    recorder.observe_columns(
        [_ENTITY], np.array([25000, 35000]), np.array([10, 10]), {"ops_per_s": np.array([[value, 2.0**62]])}
    )
    recorder.finish()
    assert {(row["ops_per_s"], row["busy_ratio"]) for row in rows} == {(None, 0.5), (2.0**62, None)}
    assert recorder.notes.omitted == {"values that nothing can have measured (2^63 or more)": 3}
