"""The iSCSI login time-out is shorter than the array's maker advises.

Looks for
    The login time-out of an iSCSI adapter in front of an array whose maker advises a longer one.

Why it matters
    When a controller fails over or a group rebalances, hundreds of sessions log in at once. Those that do not get
    their turn in time give up and come back: a short event becomes a long outage of paths.

Evidence
    `esxcli iscsi adapter param get -A ADAPTER` (LoginTimeout); and the maker of the array
    (`esxcli storage nmp device list`).

When it is wrong
    A small group with few sessions never needs the longer time.

References
    Dell EqualLogic TR1091, "Best Practices for VMware vSphere": 60 s; the default of the software adapter is 5 s.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case, Fact
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._arrays import Maker
from storscope.diagnose.rules._iscsi_setting import Setting, iscsi_adapters, judge_setting
from storscope.domain.finding import Outcome, Severity


def _too_short(fact: Fact, maker: Maker) -> bool:
    return fact.number is not None and maker.login_timeout_s is not None and fact.number < maker.login_timeout_s


_SETTING = Setting(
    rule="iscsi-login-timeout",
    fact="login_timeout_s",
    needs="the login time-out of {entity} (esxcli iscsi adapter param get -A {entity})",
    bad=_too_short,
    advice=lambda maker: maker.delayed_ack_off if maker.login_timeout_s is not None else None,
    title="Login time-out of {entity} is {value} s; {maker} advises {advised}",
    summary="iSCSI logins of {entity} are given up after {value} s; {maker} advises {advised} s.",
    why="After a fail-over many sessions log in at once; those that time out come back later and lengthen the outage.",
    innocent="The group has few sessions, so that every login is served within the time.",
    check="Look in vmkernel.log and the array's log for login time-outs at the last fail-over.",
    remedy="esxcli iscsi adapter param set -A {entity} -k LoginTimeout -v {advised}",
    healthy="The login time-out of {entity} is {value} s, as {maker} advises ({advised} s).",
    severity=Severity.INFO,
    weight=0.1,
)


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    return judge_setting(case, _SETTING, iscsi_adapters(case))


RULE = Rule(name=_SETTING.rule, title="iSCSI login time-out is shorter than advised", evaluate=_evaluate)
