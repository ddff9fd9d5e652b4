"""storscope formats."""

from __future__ import annotations

import click

from storscope.cli.suggestions import did_you_mean


@click.command("formats", epilog="\b\nExample:\n  storscope formats --json")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.argument("name", required=False)
def command(name: str | None, as_json: bool) -> int:
    """List the formats that import understands, in the importers' own words. With NAME, all about one."""
    from storscope.domain.errors import UsageError
    from storscope.sources.importers import importers

    known = importers()
    if name is not None and name not in known:
        raise UsageError(
            "a format", repr(name), hint=did_you_mean(name, known) or "Known are: " + ", ".join(known) + "."
        )
    chosen = [known[name]] if name else list(known.values())
    if as_json:
        import json

        fields = ("name", "title", "supports", "how_to_capture", "carries", "version")
        rows = [
            {field: getattr(item, field) for field in fields}
            | {"not_yet": dict(item.not_yet), "never": dict(item.never)}
            for item in chosen
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    for item in chosen:
        click.echo(f"{click.style(item.name, bold=True)}  {item.title}")
        click.echo(f"    supports   {item.supports}")
        click.echo(f"    capture    {item.how_to_capture}")
        if name:
            _print_details(item.carries, item.not_yet.items(), item.never.items())
    return 0


def _print_details(carries: object, not_yet: object, never: object) -> None:
    for heading, entries in (("carries", carries), ("not yet", not_yet), ("never", never)):
        for entry in entries:  # type: ignore[attr-defined]
            words = entry if isinstance(entry, str) else f"{entry[0]}: {entry[1]}"
            click.echo(f"    {heading:<10} {words}")
