"""storscope rules."""

from __future__ import annotations

import click


@click.command("rules", epilog="\b\nExamples:\n  storscope rules\n  storscope rules --thresholds > thresholds.toml")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--thresholds", is_flag=True, help="Print every threshold as a TOML file to edit and give to diagnose.")
def command(as_json: bool, thresholds: bool) -> int:
    """List the conditions that diagnose looks for, from the rules' own words."""
    from storscope.cli.show_rules import print_rules, print_thresholds, rules_to_json
    from storscope.diagnose.rules import rules
    from storscope.domain.errors import UsageError

    if as_json and thresholds:
        raise UsageError("--json or --thresholds, which is TOML", "both")
    if as_json:
        import json

        click.echo(json.dumps(rules_to_json(rules().values()), indent=2, ensure_ascii=False))
    elif thresholds:
        print_thresholds(rules().values())
    else:
        print_rules(rules().values())
    return 0
