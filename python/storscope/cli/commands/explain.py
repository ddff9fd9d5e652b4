"""storscope explain."""

from __future__ import annotations

import difflib

import click


@click.command("explain", epilog="\b\nExample:\n  storscope explain iscsi-port-idle")
@click.argument("rule")
def command(rule: str) -> int:
    """Explain one rule: what it looks for, why it matters, its evidence, when it is wrong, its thresholds."""
    from storscope.cli.show_rules import print_rule
    from storscope.diagnose.rules import rules
    from storscope.domain.errors import UsageError

    known = rules()
    if rule not in known:
        close = difflib.get_close_matches(rule, known, 1)
        hint = f"Did you mean {close[0]!r}?" if close else "See: storscope rules."
        raise UsageError("a rule", repr(rule), hint=hint)
    print_rule(known[rule])
    return 0
