"""storscope import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from storscope.cli.options import import_options, make_import_options, store_option
from storscope.cli.progress import ReadingProgress
from storscope.cli.standard_streams import standard_input
from storscope.cli.store_for_work import store_for_work

_EPILOG = """\b
Examples:
  storscope import esxtop.csv.gz
  storscope import captures/ --timezone Europe/Berlin
  ssh host iostat -x -y -t -o JSON 10 360 | storscope import -
  storscope import --as evaperf_text vd.txt --start 2026-11-20T22:00 --interval 20s
"""


@click.command("import", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@store_option
@import_options
@click.option("--replace", is_flag=True, help="Import again what the store has already, for instance in another zone.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(paths: tuple[Path, ...], store_path: Path | None, replace: bool, as_json: bool, **about: Any) -> int:
    """Read captures into the store: files, folders, archives (zip, tar, gz, zst, bz2, xz) or '-' for standard input.

    The format is recognised by content, never by name. A capture is either in the store completely or not at all;
    a file that was imported before is noticed.
    """
    from storscope.cli.show_import import print_import, summary_to_json
    from storscope.workbench.importing import import_paths

    with store_for_work(store_path) as store, ReadingProgress() as progress:
        summary = import_paths(
            store,
            paths,
            options=make_import_options(about),
            as_format=about["as_format"],
            replace=replace,
            standard_input=standard_input(),
            progress=progress,
        )
    if as_json:
        import json

        click.echo(json.dumps(summary_to_json(summary), indent=2, ensure_ascii=False))
    else:
        print_import(summary, store.path)
    return 2 if summary.failures or not summary.captures else 0
