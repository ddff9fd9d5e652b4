"""The catalogue of rules, from their own docstrings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from storscope.diagnose.rule import SECTIONS, Rule


def print_rules(rules: Iterable[Rule]) -> None:
    """One line a rule."""
    known = list(rules)
    width = max(len(rule.name) for rule in known)
    for rule in known:
        click.echo(f"{click.style(rule.name.ljust(width), bold=True)}  {rule.title}")
    click.echo(f"\n{len(known)} rules. Details: storscope explain RULE", err=True)


def print_rule(rule: Rule) -> None:
    """The whole page of one rule with its thresholds."""
    click.secho(f"{rule.name}: {rule.title}", bold=True)
    for heading in SECTIONS:
        click.echo()
        click.secho(heading, bold=True)
        click.echo(click.wrap_text(rule.section(heading), width=100, initial_indent="  ", subsequent_indent="  "))
    if rule.thresholds:
        click.echo()
        click.secho("Thresholds", bold=True)
        for threshold in rule.thresholds:
            click.echo(f"  {threshold.name} = {_exact(threshold.default)}")
            text = f"{threshold.meaning}. Source: {threshold.source}"
            click.echo(click.wrap_text(text, width=100, initial_indent="      ", subsequent_indent="      "))


def print_thresholds(rules: Iterable[Rule]) -> None:
    """A TOML file with every threshold at its default, commented."""
    click.echo("# Thresholds of storscope's rules, at their defaults. Keep what you change; give the file to\n"
               "# storscope diagnose --thresholds FILE. Flash and disk tiers are told apart by evidence, or by you:\n"
               '# [tiers]\n# "naa.6000*" = "flash"\n')  # fmt: skip
    for rule in rules:
        if rule.thresholds:
            click.echo(f"[{rule.name}]")
            for threshold in rule.thresholds:
                click.echo(
                    f"# {threshold.meaning} ({threshold.source})\n{threshold.name} = {_exact(threshold.default)}"
                )
            click.echo()


def _exact(number: float) -> str:
    """A number in TOML that reads back as the same, digit for digit: 10_485_760, 0.05."""
    return f"{int(number):_}" if float(number).is_integer() else repr(number)


def rules_to_json(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """The catalogue as plain JSON values."""
    return [
        {
            "name": rule.name,
            "title": rule.title,
            "sections": {heading: rule.section(heading) for heading in SECTIONS},
            "thresholds": [
                {"name": item.name, "default": item.default, "meaning": item.meaning, "source": item.source}
                for item in rule.thresholds
            ],
        }
        for rule in rules
    ]
