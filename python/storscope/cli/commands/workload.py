"""storscope workload: list, show, convert, derive."""

from __future__ import annotations

from pathlib import Path

import click

from storscope.cli.derive_command import command as derive
from storscope.cli.output_file import OutputFile, replace_option
from storscope.cli.suggestions import Verbs


def _is_workload(word: str) -> bool:
    from storscope.bench.workloads.builtin import is_builtin

    return is_builtin(word) or Path(word).exists()


@click.group("workload", cls=Verbs, usual="show", is_argument=_is_workload)
def command() -> None:
    """Explain and convert workloads: built in, Iometer's .icf, fio's job files, TOML and JSON; derive measured ones."""


command.add_command(derive)


@command.command("list", epilog="\b\nExamples:\n  storscope workload list\n  storscope workload show oltp")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON, with the source of every number.")
def list_(as_json: bool) -> int:
    """List the built-in workloads."""
    from storscope.cli.show_workload import builtins_to_json, print_builtins

    if as_json:
        import json

        click.echo(json.dumps(builtins_to_json(), indent=2, ensure_ascii=False))
    else:
        print_builtins()
    return 0


@command.command("show", epilog=(
    "\b\nExamples:\n"
    "  storscope workload show oltp\n"
    "  storscope workload show test.icf --only \"All in one\"\n"
    "  storscope workload show job.fio --json"
))  # fmt: skip
@click.argument("source", metavar="NAME|FILE")
@click.option("--only", metavar="NAME", help="Of a file with several workloads, this one.")
@click.option("--json", "as_json", is_flag=True, help="Print the workload as the load generator reads it, with losses.")
def show(source: str, only: str | None, as_json: bool) -> int:
    """Explain a workload in words: what is asked of the storage, and what the file says that is not asked."""
    from storscope.bench.workloads import load_workload
    from storscope.cli.show_workload import definition_to_json, print_definition

    definition = load_workload(source)
    if only is not None:
        definition = definition.only(only)
    if as_json:
        import json

        click.echo(json.dumps(definition_to_json(definition), indent=2, ensure_ascii=False))
    else:
        print_definition(definition)
    return 0


@command.command("convert", epilog=(
    "\b\nExamples:\n"
    "  storscope workload convert test.icf --to fio -o test.fio\n"
    "  storscope workload convert job.fio --to toml\n"
    "  storscope workload convert oltp --to icf -o oltp.icf"
))  # fmt: skip
@click.argument("source", metavar="FILE|NAME")
@click.option("--to", "form", type=click.Choice(["icf", "fio", "toml"]), required=True, help="The form to write.")
@click.option("-o", "--output", type=OutputFile(), metavar="FILE", help="A new file. [default: standard output]")
@replace_option("Replace the FILE of --output, if there is one.", of="output")
@click.option("--only", metavar="NAME", help="Of a file with several workloads, this one.")
@click.option("--target", "targets", multiple=True, help="For fio: a file or device, instead of the variable TARGET.")
def convert(source: str, form: str, output: Path | None, only: str | None, targets: tuple[str, ...]) -> int:
    """Write a workload in another form. What the form cannot say is listed on standard error, with the reason."""
    from storscope.bench.workloads import load_workload
    from storscope.bench.workloads.convert import convert_to
    from storscope.bench.workloads.loss import told_once
    from storscope.cli.show_workload import print_losses
    from storscope.domain.errors import UsageError

    if targets and form != "fio":
        raise UsageError("--target with --to fio", f"--to {form}, which names no targets")
    definition = load_workload(source)
    if only is not None:
        definition = definition.only(only)
    text, losses = convert_to(definition, form, targets)
    if output is None:
        click.echo(text, nl=False)
    else:
        from storscope.store.whole_file import write_text

        write_text(output, text)
    print_losses(told_once(definition.losses, losses))
    return 0
