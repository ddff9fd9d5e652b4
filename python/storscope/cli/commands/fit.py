"""storscope fit: drive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from storscope.cli.options import NumberType, ShareType, SizeType, store_option, typed
from storscope.cli.output_file import OutputFile, replace_option
from storscope.cli.suggestions import Verbs

_EPILOG = """\b
Examples:
  storscope fit drive cheetah.trace --name cheetah -o cheetah.toml
  storscope fit drive results.csv --only raptor --size 68.9g --like 10k-sas > raptor.toml
  storscope bench /dev/sdb --sweep sizes=4k modes=randread,randwrite depth=1,2,4,8,16,32
  storscope fit drive --name mine --size 931.5g --like 7200-sata -o mine.toml
"""


@click.group("fit", cls=Verbs, usual="drive")
def command() -> None:
    """Find the parameters of a simulated part from measurements of the real one."""


@command.command("drive", epilog=_EPILOG)
@click.argument("evidence", metavar="[EVIDENCE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--name", default="fitted", show_default=True, help="What the drive is called in designs.")
@click.option("-o", "--output", type=OutputFile(), metavar="FILE",
              help="Write the table here, to a new file, and the summary to standard output.")  # fmt: skip
@replace_option("Replace the FILE of --output, if there is one.", of="output")
@click.option("--size", "size_bytes", type=SizeType(), help="Of the drive, in binary units: one of 1 TB has 931.5g. "
              "[default: what a trace reaches; --like's]")  # fmt: skip
@click.option("--held-back", type=ShareType(), help="Of a trace: the last part, which judges the fit and takes no part "
              "in it. [default: 50%]")  # fmt: skip
@click.option("--like", metavar="NAME", help="The drive of the catalogue that gives what the data do not. "
              "[default: of a grid, by its rate]")  # fmt: skip
@click.option("--curve", is_flag=True, help="Keep a grid as a measured curve, without a model.")
@click.option("--turns-per-min", type=NumberType(1e3, 3e4), help="Of a grid, if it is not that of --like.")
@click.option("--only", metavar="TEXT", help="Of results of several drives: part of the system's or target's name, or "
              "a pattern with * and ? that fits it.")  # fmt: skip
@click.option("--block", "block_bytes", type=SizeType(), help="Of results of several block sizes. [default: most runs]")
@click.option(
    "--span", "span_ratio", type=ShareType(above_0=True), help="The first part of the drive, which a grid used."
)
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
def drive(evidence: tuple[Path, ...], **chosen: Any) -> int:
    """Fit a drive to measurements, say how well it predicts, and write its table for a design.

    EVIDENCE is a trace of single requests (R or W, a flag, first sector, sectors, service and think time in us), or
    files with throughput by queue depth of one drive (fio's JSON, tables of results). Without it, the runs of the store
    are taken, such as those of bench --sweep.

    A trace is fitted on its first part and predicts the rest; of a grid each depth is left out once. What the data do
    not tell is said.
    """
    from storscope.cli import show_fit as show
    from storscope.store.whole_file import write_text

    output: Path | None = chosen["output"]
    report = _fit(evidence, chosen)
    if output is not None:
        write_text(output, report.toml)
    if chosen["as_json"]:
        click.echo(json.dumps(show.report_to_json(report), indent=2, ensure_ascii=False))
        return 0
    show.print_report(report, err=output is None)
    if output is None:
        click.echo(report.toml, nl=False)
    else:
        click.echo(f"In {output}, to be put into a design: drive = {report.name!r}. See: docs/simulate.md.")
    return 0


def _fit(evidence: tuple[Path, ...], chosen: dict[str, Any]) -> Any:
    from storscope.cli.show_fit import waiting
    from storscope.cli.store_for_reading import store_for_reading
    from storscope.domain.errors import UsageError
    from storscope.sim.drive_toml import checked_name
    from storscope.workbench.fitting import FitOptions, fit_drive

    if (chosen["held_back"] or 0) > 0.9:
        raise UsageError("a share of at most 90 %", f"{chosen['held_back']:.0%}", where="--held-back")
    if evidence and typed("store_path"):
        raise UsageError("EVIDENCE or --store, whose runs are taken without any", "both")
    for path in evidence:
        if not path.exists():
            raise UsageError("a file that exists", "none", where=str(path))
    store = None if evidence else store_for_reading(chosen["store_path"])
    options = FitOptions(
        checked_name(chosen["name"]), chosen["like"], chosen["size_bytes"], chosen["turns_per_min"], chosen["curve"],
        chosen["held_back"], chosen["only"], chosen["block_bytes"], chosen["span_ratio"],
    )  # fmt: skip
    with waiting():
        return fit_drive(evidence, store, options)
