"""storscope explain."""

from __future__ import annotations

import click

from storscope.cli.suggestions import did_you_mean


@click.command("explain", epilog="\b\nExample:\n  storscope explain iscsi-port-idle")
@click.argument("rule")
def command(rule: str) -> int:
    """Explain one rule: what it looks for, why it matters, its evidence, when it is wrong, its thresholds."""
    from storscope.cli.show_rules import print_rule
    from storscope.diagnose.rules import rules
    from storscope.domain.errors import UsageError

    known = rules()
    if rule not in known:
        raise UsageError("a rule", repr(rule), hint=did_you_mean(rule, known) or "See: storscope rules.")
    print_rule(known[rule])
    return 0
