"""Drives are fitted to measurements: a known one is found again, and what the data do not tell is said."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from storscope import _core
from storscope.domain.errors import ConfigError, MalformedInput
from storscope.sim.catalogue import catalogue
from storscope.sim.drive_toml import drive_table
from storscope.sim.fitting import (
    DepthGrid,
    DepthRate,
    FittedDrive,
    class_of,
    curve_drive,
    drive_named,
    fit_grid,
    fit_trace,
)
from tests.sim.fit_evidence import OVERHEAD_US, SEEK_BASE_US, SEEK_ROOT_US, TURN_US, textbook_trace


@pytest.fixture(scope="module")
def fitted() -> FittedDrive:
    return fit_trace(textbook_trace(1_400), "drive.trace")


def _numbers(fitted: FittedDrive) -> dict[str, Any]:
    return {one["key"]: one for one in fitted.numbers}


def test_the_formula_behind_a_trace_is_found_again(fitted: FittedDrive) -> None:
    numbers = _numbers(fitted)
    assert numbers["turns_per_min"]["value"] == pytest.approx(60e6 / TURN_US, rel=0.03)
    # Of far requests overhead and the base of the seek curve are known as a sum, and base and root nearly so.
    at_a_quarter_us = OVERHEAD_US + SEEK_BASE_US + 0.5 * SEEK_ROOT_US
    values = {key: one["value"] / 1e3 for key, one in numbers.items()}
    found_us = values["overhead_ns"] + values["seek.a_ns"] + 0.5 * values["seek.b_ns"] + 0.25 * values["seek.c_ns"]
    assert found_us == pytest.approx(at_a_quarter_us, rel=0.05)


def test_what_was_held_back_is_predicted(fitted: FittedDrive) -> None:
    rest = fitted.judgement["on_rest"]
    assert rest["requests"] == 700
    # Each half's mean of 700 times is sure to 0.9 % alone: three standard errors of their difference.
    assert rest["predicted_us_mean"] == pytest.approx(rest["measured_us_mean"], rel=0.039)
    assert rest["demerit"]["ratio"] < 0.05
    assert fitted.judgement["parameters"] <= 12


def test_what_a_trace_of_reads_does_not_show_is_said(fitted: FittedDrive) -> None:
    numbers = _numbers(fitted)
    assert numbers["turns_per_min"]["is_known"]
    assert numbers["turns_per_min"]["error_ratio"] < 0.05
    assert not numbers["write_settle_ns"]["is_known"]
    assert numbers["write_settle_ns"]["error_ratio"] is None


def test_the_same_trace_gives_the_same_drive(fitted: FittedDrive) -> None:
    assert fit_trace(textbook_trace(1_400), "again").design == fitted.design


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("R Hit 100 8 5000.0", "drive.trace:3: expected R or W, a flag, first sector"),
        ("Q Hit 100 8 5000.0 1.0", 'drive.trace:3: expected R or W, found "Q"'),
        ("R Hit -1 8 5000.0 1.0", "drive.trace:3: expected a sector number"),
        ("R Hit 100 0 5000.0 1.0", "drive.trace:3: expected 1 to 1048576 sectors"),
        ("R Hit 100 8 nan 1.0", "drive.trace:3: expected microseconds"),
    ],
)
def test_a_line_that_is_no_request_is_named(line: str, said: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        fit_trace(f"R Hit 100 8 5000.0 1.0\n\n{line}\n", "drive.trace")
    assert said in str(caught.value)


def test_a_trace_that_tells_too_little_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 500 requests, found 450"):
        fit_trace(textbook_trace(900), "drive.trace")
    still = "R Hit 100 8 5000.0 1.0\n" * 2_000
    with pytest.raises(ConfigError, match="at least 100 reads far from the request before"):
        fit_trace(still, "drive.trace")


# Grids ----------------------------------------------------------------------------------------------------------------


def _grid(reads: dict[int, float], writes: dict[int, float] | None = None) -> DepthGrid:
    rates = [tuple(DepthRate(*pair) for pair in found.items()) for found in (reads, writes or {})]
    return DepthGrid(rates[0], rates[1], 4096)


def test_a_grid_moves_seek_and_sorting_and_nothing_else() -> None:
    base = drive_named("7200-sata")
    fitted = fit_grid(_grid({1: 60.0, 16: 95.0}), base, "grid")
    changed = {key for key, value in fitted.design.items() if value != base.get(key)}
    assert changed == {"seek", "queueing"}
    for point in fitted.judgement["reads"]:
        assert point["fitted_per_s"] == pytest.approx(point["measured_per_s"], rel=0.03)
        assert point["left_out_per_s"] is not None


def test_a_curve_is_kept_as_it_is() -> None:
    fitted = fit_grid(_grid({1: 100.0, 4: 200.0}, {2: 150.0}), curve_drive(10**12, 4096), "grid")
    assert fitted.design["reads"] == [{"qd": 1, "iops": 100.0}, {"qd": 4, "iops": 200.0}]
    assert fitted.design["writes"] == [{"qd": 2, "iops": 150.0}]
    assert not fitted.numbers


def test_a_grid_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="random reads at one or more depths, found none"):
        fit_grid(_grid({}), drive_named("7200-sata"), "grid")
    with pytest.raises(ConfigError, match="storscope simulate --drives"):
        drive_named("no-such-drive")


@pytest.mark.parametrize(
    ("rate", "name"), [(72, "7200-sata"), (124, "10k-sas"), (180, "15k-sas"), (7_400, "sata-ssd"), (12_000, "nvme-ssd")]
)
def test_a_class_is_told_by_the_rate_of_one_request_at_a_time(rate: float, name: str) -> None:
    assert class_of(_grid({1: rate})) == name
    assert class_of(_grid({2: 2 * rate})) == name


# Tables ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [entry.name for entry in catalogue()])
def test_every_drive_can_be_written_and_is_read_as_it_was(name: str) -> None:
    """`drive_table` itself compares; what it writes is TOML of one table."""
    design = drive_named(name)
    table = tomllib.loads(drive_table("copy", design, header=["a comment"]))
    assert set(table) == {"drives"}
    assert table["drives"]["copy"]["kind"] == design["kind"]


def test_a_fitted_drive_can_be_written(fitted: FittedDrive) -> None:
    text = drive_table(
        "fitted", fitted.design, remarks={"seek.a_ns": "fitted", "seek.b_ns": "fitted", "hit_ns": "shaky"}
    )
    assert '\nseek = { form = "curve",' in text
    assert text.count("# a, b fitted") == 1
    assert text.count("# shaky") == 1


def test_a_negative_number_survives() -> None:
    design = dict(drive_named("7200-sata"), seek={"form": "curve", "a_ns": 1e6, "b_ns": 9e6, "c_ns": -1_465_759.5})
    assert tomllib.loads(drive_table("d", design))["drives"]["d"]["seek"]["c_ns"] == -1_465_759.5


@pytest.mark.parametrize("name", ["a b", "", 'x"]\n[y', "a.b"])
def test_a_name_that_cannot_stand_in_a_table_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="--name"):
        drive_table(name, drive_named("7200-sata"))


def test_the_core_says_what_is_no_json_of_its_own() -> None:
    with pytest.raises(ValueError, match="kind"):
        _core.fit_drive_to_grid("{}", "{}")
