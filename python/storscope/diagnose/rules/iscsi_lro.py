"""Large receive offload is on for a host whose iSCSI array advises against it.

Looks for
    Large receive offload (LRO) of the host's network stack, in front of an iSCSI array whose maker advises to turn it
    off.

Why it matters
    LRO gathers received segments into large ones. That delays acknowledgements and the first bytes of an answer: it
    costs latency on a storage network to save processor time.

Evidence
    `esxcli system settings advanced list -o /Net/TcpipDefLROEnabled`; and the maker of the array
    (`esxcli storage nmp device list`).

When it is wrong
    On fast processors and newer releases the effect is small; most makers do not advise on it.

References
    Dell EqualLogic TR1091, "Best Practices for VMware vSphere".
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._iscsi import is_true
from storscope.diagnose.rules._iscsi_setting import Setting, iscsi_hosts, judge_setting
from storscope.domain.finding import Outcome

_SETTING = Setting(
    rule="iscsi-lro",
    fact="lro_enabled",
    needs="large receive offload of an iSCSI host (esxcli system settings advanced list -o /Net/TcpipDefLROEnabled)",
    bad=lambda fact, _maker: is_true(fact.value) is True,
    advice=lambda maker: maker.lro_off,
    title="Large receive offload is on for {entity}; {maker} advises off",
    summary="The network stack of {entity} gathers received segments (LRO={value}).",
    why="Gathering delays acknowledgements and the first bytes of every answer: latency on the storage network.",
    innocent="The latency of small reads is fine, so that the delay of some microseconds does not matter.",
    check="Compare the latency of small reads with LRO on and off, on one host, under the same load.",
    remedy="esxcli system settings advanced set -o /Net/TcpipDefLROEnabled -i 0, then restart the host.",
    healthy="Large receive offload is off on {entity}, as {maker} advises.",
    weight=0.15,
)


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    return judge_setting(case, _SETTING, iscsi_hosts(case, _SETTING.fact))


RULE = Rule(name=_SETTING.rule, title="LRO is on against the array maker's advice", evaluate=_evaluate)
