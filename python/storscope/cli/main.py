"""The entry point: `storscope`. Loads a verb's module only when that verb is called, so that help is quick."""

from __future__ import annotations

import gc
import importlib
import io
import os
import signal
import sys
import warnings
from typing import Any, Final

import click

from storscope import __version__
from storscope.cli.interruption import FirstInterruption
from storscope.cli.suggestions import Verbs
from storscope.domain.open_files import open_files_hint  # here, as later no file may be opened to load it

_VERBS: Final = {
    # verb: (module, what it does)
    "import": ("import_evidence", "Read captures into the store."),
    "diagnose": ("diagnose", "Say what is wrong, who causes it and why to believe it."),
    "compare": ("compare", "Say whether two runs, groups of runs or time ranges differ, and by how much."),
    "bench": ("bench", "Measure a directory, file or block device under a workload."),
    "simulate": ("simulate", "Predict what a storage design does under a workload, and why."),
    "fit": ("fit", "Find the parameters of a simulated drive from measurements of a real one."),
    "workload": ("workload", "Explain and convert workloads: built-in, Iometer, fio, TOML."),
    "store": ("store", "Look into the store: info, query, export."),
    "formats": ("formats", "List the formats that import understands."),
    "rules": ("rules", "List the conditions that diagnose looks for."),
    "explain": ("explain", "Explain one rule: what, why, evidence, when it is wrong."),
    "demo": ("demo", "Diagnose the bundled examples and write a report."),
}


_ELSEWHERE: Final = "Go to another directory, or there again if it was made anew."
_CLOSED_PIPE: Final = 141
_INTERRUPTED: Final = 130
_OBJECTS_BETWEEN_SEARCHES: Final = 100_000


class _Verbs(Verbs):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        module = importlib.import_module(f"storscope.cli.commands.{_VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, words) for verb, (_, words) in _VERBS.items()])


_EPILOG = """\b
Examples:
  storscope diagnose captures/ --report report.html
  storscope import esxtop.csv.gz vmkernel.log --timezone Europe/Berlin
  storscope diagnose --since 2026-11-20T22:00 --fail-on warning
  storscope store query "SELECT entity, max(read_latency_ns_mean) FROM observations GROUP BY 1"
"""


@click.command(cls=_Verbs, usual="diagnose", epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", message="storscope %(version)s")
def cli() -> None:
    """storscope: storage performance workbench. Measure, diagnose, predict, change, verify.

    Exit codes: 0 fine; 1 findings at or above --fail-on; 2 usage or input error, another failure, or nothing could be
    judged; 130 interrupted (143 by SIGTERM, 129 by SIGHUP).
    """


def _print_what_the_locale_lacks() -> None:
    """A letter that the terminal's or the pipe's encoding lacks (ISO 8859-1 has no arrow) becomes '?', and no error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _look_for_cycles_rarely() -> None:
    """A large simulation makes millions of dictionaries and lists, and none of them in a circle: to look for circles
    among them as often as Python does by itself takes an eighth of its time. No command lives long.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES)


def _keep_warnings_to_developers() -> None:
    """numpy's warnings of a division by nothing, on evidence that no test thought of, are nothing a user can act on.

    They are errors in the tests, and `python -W default -m storscope` shows them.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore", RuntimeWarning)


def main() -> None:
    """Runs the command line; every error that was foreseen ends as a message, never as a traceback."""
    _print_what_the_locale_lacks()
    _look_for_cycles_rarely()
    _keep_warnings_to_developers()
    interruption = FirstInterruption()
    interruption.listen()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # one that no command heard
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        code = interruption.exit_code
    interruption.has_come = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interpreter's end would give it back its deadly meaning
    if code == _CLOSED_PIPE:
        os._exit(code)  # what is left in the buffer has nowhere to go
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Runs one command and returns its exit code."""
    try:
        outcome: Any = cli.main(arguments, prog_name="storscope", standalone_mode=False, color=_color())
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        fills_store = arguments[:1] == ["import"] or "--store" in arguments
        kept = "; what is in the store already is complete and stays" if fills_store else ""
        click.echo(f"Interrupted{kept}.", err=True)
        return _INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # click turns a closed pipe into SystemExit(1), which would mean findings; 141 is what a shell makes of SIGPIPE.
        return _CLOSED_PIPE
    except OSError as error:
        words = f"{error.filename or 'the system'}: {error.strerror or error}"
        return _failed(words, hint=open_files_hint(error), is_of_the_place=error.filename is None)
    except Exception as error:
        from storscope.domain.errors import QueryError, StorscopeError

        if isinstance(error, StorscopeError):  # a place is what the engine asks for before any question
            return _failed(str(error), is_of_the_place=isinstance(error, QueryError))
        raise
    return outcome if isinstance(outcome, int) else 0


def _is_without_a_place() -> bool:
    """Whether the directory that the command was started in was removed: most that is asked for it then fails."""
    try:
        os.getcwd()  # noqa: PTH109  that of pathlib is the same
    except FileNotFoundError:
        return True
    return False


def _failed(words: str, *, is_of_the_place: bool, hint: str = "") -> int:
    """Says an error, and the code of it. If the place is gone, one that may be of that is told as that."""
    if _is_without_a_place():
        hint = f"The directory you are in was removed. {_ELSEWHERE}"
        if is_of_the_place:
            words, hint = "the working directory: expected one that is there, found that it was removed.", _ELSEWHERE
    _say_error(words)
    if hint:
        click.echo(f"  {hint}", err=True)
    return 2


def _say_error(words: str) -> None:
    """Errors quote what was found, and files by their names: either may have been made by anybody."""
    from storscope.cli.text_table import harmless_lines

    click.echo(f"error: {harmless_lines(words)}", err=True)


def _color() -> bool | None:
    """False where NO_COLOR says so (no-color.org: set and not empty); None leaves it to what is written to."""
    return False if os.environ.get("NO_COLOR") else None
