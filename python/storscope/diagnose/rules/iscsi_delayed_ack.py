"""Delayed acknowledgement is on for an iSCSI adapter whose array advises against it.

Looks for
    Delayed ACK on an iSCSI adapter in front of an array whose maker advises to turn it off.

Why it matters
    With delayed ACK the host acknowledges every second segment, or after up to 200 ms. After a lost segment the array
    waits for acknowledgements before it sends on, so that a little congestion turns into stalls of tenths of a second.

Evidence
    `esxcli iscsi adapter param get -A ADAPTER` (DelayedAck), on ESXi 5.0 and older `vmkiscsid --dump-db`; and the
    maker of the array (`esxcli storage nmp device list`).

When it is wrong
    Without loss on the network the setting changes nothing. A target's own setting overrides the adapter's.

References
    RFC 1122, section 4.2.3.2 on delayed ACK; VMware knowledge base 1002598, "ESX/ESXi hosts might experience read or
    write performance issues with certain storage arrays"; Dell EqualLogic TR1091.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._iscsi import is_true
from storscope.diagnose.rules._iscsi_setting import Setting, iscsi_adapters, judge_setting
from storscope.domain.finding import Outcome

_SETTING = Setting(
    rule="iscsi-delayed-ack",
    fact="delayed_ack",
    needs="delayed ACK of {entity} (esxcli iscsi adapter param get -A {entity})",
    bad=lambda fact, _maker: is_true(fact.value) is True,
    advice=lambda maker: maker.delayed_ack_off,
    title="Delayed ACK is on for {entity}; {maker} advises off",
    summary="iSCSI acknowledgements are delayed on {entity} (DelayedAck={value}).",
    why="After a lost segment the array waits for acknowledgements that come up to 200 ms late: short congestion "
    "becomes long stalls.",
    innocent="There is no loss on the storage network, or the setting was changed on the targets themselves.",
    check="Count retransmissions under load, in the switch or with pktcap-uw: none means harmless.",
    remedy="Turn DelayedAck off in the advanced settings of {entity}, re-discover the targets, restart the host.",
    healthy="Delayed ACK is off on {entity}, as {maker} advises.",
)


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    return judge_setting(case, _SETTING, iscsi_adapters(case))


RULE = Rule(name=_SETTING.rule, title="delayed ACK is on against the array maker's advice", evaluate=_evaluate)
