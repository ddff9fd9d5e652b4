"""storscope demo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from storscope.cli.options import typed
from storscope.cli.output_file import OutputFile, replace_option, replaces

_EXAMPLES = (
    ("equallogic", "An EqualLogic array over iSCSI: latency warnings at night, 'the network is fine'"),
    ("noisy_neighbour", "Four volumes on one disk: three of them slow down for a while"),
)


@click.command(
    "demo",
    epilog="\b\nExamples:\n  storscope demo\n  storscope demo --output /tmp/demo --verbose\n"
    "  storscope demo --live\n  storscope demo --live /mnt/array --report live.html",
)
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=Path("storscope-demo"),
              show_default=True, help="Folder for the reports.")  # fmt: skip
@click.option(
    "--live",
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
    default=None,
    help="Instead: a victim and a hog with real I/O on scratch files in DIR, for about a minute. "
    "[default: a new directory on storage]",
)
@click.option("--report", type=OutputFile(is_page=True), metavar="FILE", help="With --live: keep the report.")
@replace_option("Replace files also if they are no earlier reports of storscope.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="STORE",
    help="With --live: keep what was collected as a new store.",
)
@click.option("-v", "--verbose", is_flag=True, help="Everything about each finding, with its evidence.")
def command(output: Path, live: str | None, report: Path | None, keep: Path | None, verbose: bool) -> int:
    """Diagnose the bundled examples and write a report for each.

    The truth that is known of an example is printed beside the verdict. With --live it is your own storage that is
    diagnosed, while a hog that you know of slows down a victim: no root, and nothing is left behind.
    """
    if live is not None:
        from storscope.cli.live_demo_command import play

        if typed("output"):
            raise click.UsageError("--output is for the bundled examples; --live writes its page to --report.")
        if replaces() and report is None:
            raise click.UsageError("With --live, --replace is for the file of --report.")
        return play(Path(live) if live else None, report, keep, verbose=verbose)
    if report is not None or keep is not None:
        raise click.UsageError("--report and --keep go with --live; the bundled examples write to --output.")
    from storscope.store.whole_file import check_place, make_folder

    make_folder(output)
    reports = {name: output / f"{name}.html" for name, _ in _EXAMPLES}
    for page in reports.values():
        check_place(page, is_page=True, replaces=replaces())
    for name, words in _EXAMPLES:
        _show_example(examples_folder() / name, words, reports[name], verbose)
    click.echo(f"Your own evidence: storscope diagnose PATH... --report {output / 'mine.html'}")
    return 0


def examples_folder() -> Path:
    """Where the bundled examples lie."""
    return Path(__file__).parents[2] / "examples"


def _show_example(example: Path, words: str, report: Path, verbose: bool) -> None:
    from storscope.cli.show_verdict import print_verdict
    from storscope.domain.finding import Severity
    from storscope.report import write_report
    from storscope.store import Store
    from storscope.workbench.diagnosing import diagnose
    from storscope.workbench.importing import import_paths
    from storscope.workbench.temporary_stores import folder_for_stores

    click.secho(f"── {words}", bold=True)
    click.echo(f"   {example}\n")
    with folder_for_stores() as folder:
        store = Store.open(folder / "store", create=True)
        import_paths(store, [example])
        verdict = diagnose(store)
        print_verdict(verdict, Severity.INFO, verbose=verbose, is_kept=True)
        write_report(verdict, store, report)
    _print_truth(example / "truth.json", verdict)
    click.secho(f"\nreport: {report}\n", bold=True)


def _print_truth(file: Path, verdict: Any) -> None:
    """What is known of an example from elsewhere, beside what the verdict names."""
    if not file.exists():
        return
    truth = json.loads(file.read_text(encoding="utf-8"))
    hog = truth["hog"]
    named = {entity.name for finding in verdict.findings[:1] for entity in finding.entities}
    agreed = "the first finding names it" if hog["volume"] in named else "THE FIRST FINDING DOES NOT NAME IT"
    click.echo(f"\nTruth, as recorded: {hog['volume']} was the hog from {hog['from']} to {hog['to']}; {agreed}.")
