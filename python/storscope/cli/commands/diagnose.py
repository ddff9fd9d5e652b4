"""storscope diagnose: the main job."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from storscope.cli.after_printing import after_printing
from storscope.cli.evidence_of import reading
from storscope.cli.options import (
    DEFAULT_STORE,
    MomentType,
    import_options,
    refuse_import_options,
    store_option,
)
from storscope.cli.output_file import OutputFile, replace_option

_SEVERITIES = click.Choice(["info", "warning", "critical"])
_EPILOG = """\b
Examples:
  storscope diagnose captures/ --report report.html
  storscope diagnose incident.zip --timezone Europe/Berlin --verbose
  storscope diagnose --store prod --since 2026-11-20T22:00 --until 2026-11-21T06:00
  storscope diagnose --store lab --run simulation-5d0c8f1e-18a3b4c5d6e7f809 --since 0:12:30
  storscope diagnose captures/ --json --fail-on critical
"""


@click.command("diagnose", epilog=_EPILOG)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@store_option
@import_options
@click.option("--run", metavar="NAME", help="Only what the run of this name, id or pattern belongs to; simulated runs "
              "are judged one by one. Also run=NAME instead of PATHS.")  # fmt: skip
@click.option("--report", type=OutputFile(is_page=True), metavar="FILE", help="Write a self-contained HTML report.")
@replace_option("Replace the FILE of --report also if it is no earlier report of storscope.", of="report")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON (docs/verdict-json.md).")
@click.option("--since", type=MomentType(), help="Only evidence from this time on (ISO 8601, UTC without a zone); of a "
              "simulated run also the time since its start (0:12:30, 12m30s).")  # fmt: skip
@click.option("--until", type=MomentType(), help="Only evidence before this time.")
@click.option("--min-severity", type=_SEVERITIES, default="info", show_default=True, help="Show findings from here up.")
@click.option("--fail-on", type=_SEVERITIES, default="warning", show_default=True,
              help="Exit with 1 when there is a finding of this severity or above.")  # fmt: skip
@click.option("--thresholds", type=click.Path(path_type=Path, dir_okay=False), help="TOML file (storscope rules "
              "--thresholds prints one).")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), default=0, show_default=True,
              help="Seed of the bootstrap intervals.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Everything about each finding, with its evidence.")
def command(paths: tuple[Path, ...], store_path: Path | None, **chosen: Any) -> int:
    """Say what is wrong, who causes it and why to believe it.

    With PATHS: reads them and diagnoses what they hold, keeping the tables only if --store is given; what that store
    held already is judged together with them, which is said. Without, or with the path of a store: diagnoses the
    store. Exit code 0: nothing at or above --fail-on; 1: findings; 2: error, a file that could not be read, or
    evidence that is enough for no rule.
    """
    from storscope.cli.store_for_reading import complete
    from storscope.store import Store
    from storscope.workbench.brought import bring, store_of
    from storscope.workbench.diagnosing import diagnose
    from storscope.workbench.judged_beside import with_beside

    paths, run = _selected(paths, chosen["run"])
    if paths and _is_from_environment("store_path"):
        store_path = None  # it says where to look when nothing else is named, not what to mix with what is
    if store_path is None and len(paths) == 1 and Store.is_store(paths[-1]):
        store_path, paths = paths[-1], ()
    if not paths:
        refuse_import_options("a store")
    with ExitStack() as stack:
        how = stack.enter_context(reading(chosen, verbose=chosen["verbose"]))
        brought = None
        if paths and store_path is None:
            store, brought = stack.enter_context(store_of(paths, how))
        else:
            store = Store.open(store_path or Path(DEFAULT_STORE), create=bool(paths))
            complete(store)
            if paths:
                brought = bring(store, paths, how)
        verdict = diagnose(
            store,
            thresholds_file=chosen["thresholds"],
            since=chosen["since"],
            until=chosen["until"],
            seed=chosen["seed"],
            run=run,
        )
        if brought is not None:
            verdict = with_beside(verdict, set(brought.captures))
        with after_printing(partial(_write_report, verdict, store, chosen["report"])):
            _show(verdict, chosen, store, is_kept=not paths or store_path is not None)
    return exit_code(verdict, chosen["fail_on"], 0 if brought is None else len(brought.failures))


def _is_from_environment(name: str) -> bool:
    """Whether the value of a parameter is that of its environment variable."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.ENVIRONMENT


def _write_report(verdict: Any, store: Any, path: Path | None) -> None:
    if path is not None:
        from storscope.report import write_report

        write_report(verdict, store, path)
        click.echo(f"report: {path}", err=True)


def _selected(paths: tuple[Path, ...], run: str | None) -> tuple[tuple[Path, ...], str | None]:
    """The paths without a `run=NAME` among them, as compare takes it, and the run."""
    from storscope.domain.errors import UsageError

    named = [path for path in paths if str(path).startswith("run=") and not path.exists()]
    if len(named) + (run is not None) > 1:
        raise UsageError("one --run NAME or run=NAME", "several")
    rest = tuple(path for path in paths if path not in named)
    return rest, str(named[0]).removeprefix("run=") if named else run


def exit_code(verdict: Any, fail_on: str, failures: int = 0) -> int:
    """1 for a finding of severity `fail_on` or above; else 2 where files failed or no rule could judge; else 0."""
    from storscope.domain.finding import Severity

    if verdict.worst is not None and verdict.worst >= Severity[fail_on.upper()]:
        return 1
    return 2 if failures or not (verdict.findings or verdict.healthy) else 0


def _show(verdict: Any, chosen: dict[str, Any], store: Any, *, is_kept: bool) -> None:
    if chosen["as_json"]:
        import json

        from storscope.domain.verdict_json import verdict_to_json

        click.echo(json.dumps(verdict_to_json(verdict), indent=2, ensure_ascii=False))
        return
    from storscope.cli.show_verdict import print_verdict
    from storscope.domain.finding import Severity

    least = Severity[chosen["min_severity"].upper()]
    print_verdict(verdict, least, verbose=chosen["verbose"], is_kept=is_kept, has_load=_has_load(verdict, store))


def _has_load(verdict: Any, store: Any) -> bool:
    """Whether it was measured what volumes were asked for; of a simulated run it is known without."""
    from storscope.workbench.measured_loads import has_volumes

    return verdict.zero_ns is None and has_volumes(store)
