"""storscope workload derive: what volumes were asked for, as a workload for a design."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.options import (
    DurationType,
    MomentType,
    ShareType,
    SizeType,
    import_options,
    store_option,
)
from storscope.cli.output_file import OutputFile, replace_option
from storscope.cli.text_table import harmless

if TYPE_CHECKING:
    from storscope.store import Store
    from storscope.workbench.derived_workload import Derived

_EPILOG = """\b
Examples:
  storscope workload derive --store prod --since 2026-11-20T22:00 --until 2026-11-21T06:00 -o night.toml
  storscope simulate array.toml --workload night.toml
  storscope workload derive esxtop.csv --entity 'device/naa.6000*' --at peak --window 5m
  storscope workload derive iostat.txt --closed
"""


@click.command("derive", epilog=_EPILOG)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@store_option
@import_options
@click.option("--entity", metavar="PATTERN", help="Those whose name, KIND/NAME or SYSTEM/KIND/NAME fits, with * and ?. "
              "[default: volumes; else devices, datastores, ...]")  # fmt: skip
@click.option("--run", metavar="NAME", help="Only what the run of this name, id or pattern belongs to.")
@click.option("--since", type=MomentType(), help="Only evidence from this time on, as of storscope diagnose.")
@click.option("--until", type=MomentType(), help="Only evidence before this time.")
@click.option("--at", "place", type=click.Choice(["mean", "peak"]), default="mean", show_default=True,
              help="The mean of that time, or its busiest window, of all together.")  # fmt: skip
@click.option("--window", "window_s", type=DurationType(), help="Length of the busiest window. [default: an interval]")
@click.option("--closed", "is_closed", is_flag=True, help="As many I/Os in flight as were measured (rate x latency), "
              "instead of the measured rate.")  # fmt: skip
@click.option("--random-share", type=ShareType(), default="100%", show_default=True,
              help="Share of random I/Os, which counters do not tell.")  # fmt: skip
@click.option("--read-share", type=ShareType(), help="Share of reads, where the evidence does not tell it.")
@click.option("--size", "size_bytes", type=SizeType(), help="Size of I/Os, where the evidence does not tell it.")
@click.option("-o", "--output", type=OutputFile(), metavar="FILE", help="A new file. [default: standard output]")
@replace_option("Replace the FILE of --output, if there is one.", of="output")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, as storscope workload show does.")
def command(paths: tuple[Path, ...], store_path: Path | None, **chosen: Any) -> int:
    """Write what was asked of volumes as a workload: their rates, shares of reads, sizes.

    Of a store, or of PATHS. Each volume has a stream of its own, on a target of its name, so that storscope simulate
    finds the volumes of a design that are called the same. What counters do not tell is listed on standard error and in
    the file.
    """
    from storscope.cli.evidence_of import evidence_of
    from storscope.cli.show_workload import print_losses
    from storscope.domain.errors import UsageError
    from storscope.domain.units import SECTOR_BYTES

    if chosen["window_s"] is not None and chosen["place"] == "mean":
        raise UsageError("--window with --at peak", "--at mean", hint="--since and --until choose the time of a mean.")
    if (SECTOR_BYTES if chosen["size_bytes"] is None else chosen["size_bytes"]) < SECTOR_BYTES:
        raise UsageError(f"a size of at least {SECTOR_BYTES} bytes", str(chosen["size_bytes"]), where="--size")
    if chosen["as_json"] and chosen["output"] is not None:
        raise UsageError("--json or --output", "both", hint="--json goes to standard output.")
    with evidence_of(paths, store_path, chosen) as store:
        derived = _derived(store, chosen)
    _write(derived, chosen["output"], as_json=chosen["as_json"])
    print_losses(derived.definition.losses)
    return 0


def _derived(store: Store, chosen: dict[str, Any]) -> Derived:
    from storscope.domain.units import NS_PER_S
    from storscope.workbench.asked_case import asked_case
    from storscope.workbench.derived_words import Assumed
    from storscope.workbench.derived_workload import derived_workload
    from storscope.workbench.held_loads import held_loads
    from storscope.workbench.measured_loads import measured_loads

    asked = asked_case(store, since=chosen["since"], until=chosen["until"], run=chosen["run"])
    if asked.part is not None:
        click.echo(harmless(f"note: {asked.part.words}"), err=True)
    window_s = chosen["window_s"]
    measured = measured_loads(
        asked.case, chosen["entity"], at_peak=chosen["place"] == "peak",
        window_ns=None if window_s is None else round(window_s * NS_PER_S),
    )  # fmt: skip
    assumed = Assumed(chosen["random_share"], chosen["read_share"], chosen["size_bytes"])
    held = held_loads(asked.case, measured)
    return derived_workload(measured, asked.case.zero_ns, is_closed=chosen["is_closed"], assumed=assumed, held=held)


def _write(derived: Derived, output: Path | None, *, as_json: bool) -> None:
    if as_json:
        import json

        from storscope.cli.show_workload import definition_to_json

        click.echo(json.dumps(definition_to_json(derived.definition), indent=2, ensure_ascii=False))
    elif output is None:
        click.echo(derived.toml(), nl=False)
    else:
        from storscope.store.whole_file import write_text

        write_text(output, derived.toml())
