"""The user's word that data may be lost: the device's serial number, or the file's path and size, exactly repeated.

"--force" and "yes" are typed without reading; a serial number has to be looked up, and it belongs to one device even
after /dev/sdb has become another one. So permission is tied to the object, is compared exactly and never remembered.
It lifts only what is about content. What is in use now stays refused: its writers would overwrite the test and the test
them, and the figures would be worthless besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storscope.bench.safety.block import BlockDevice, disks, twins
from storscope.bench.safety.check import Check, Outcome
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.target import DeviceTarget, FileTarget, Target
from storscope.domain.errors import TargetRefused, UsageError

OPTION = "--overwrite"
"""The command line's name for it."""
_UNFIT = {"access", "file size limit", "file system", "journal", "medium", "open", "read-only", "space"}
"""Checks of what a target can do, not of who uses it or what is on it."""


@dataclass(frozen=True)
class Demand:
    """What has to be typed."""

    text: str
    what: str

    def is_met_by(self, typed: str) -> bool:
        """Whether it was repeated exactly: no trimming, no ignoring of case, no part of it."""
        return bool(self.text) and typed == self.text


def demand(target: Target, kernel: Kernel) -> Demand | None:
    """What identifies a target; null where nothing existing would be overwritten, or nothing identifies it."""
    if isinstance(target, FileTarget):
        return Demand(f"{target.path}:{target.size_bytes}", "the file's full path and size in bytes, PATH:SIZE")
    if isinstance(target, DeviceTarget):
        return _device_demand(target, kernel)
    return None


def _device_demand(target: DeviceTarget, kernel: Kernel) -> Demand | None:
    device = target.device
    part = f"-part{device.partition}" if device.is_partition else ""
    if device.serial and _is_unique(kernel, device):
        what = "the disk's serial number" + (", -part and the partition's number" if part else "")
        return Demand(device.serial + part, what)
    if target.by_id:
        return Demand(target.by_id[0], "its name under /dev/disk/by-id, as it has no serial number of its own")
    if device.backing_file:
        text = f"{device.backing_file}{part}:{device.size_bytes}"
        return Demand(text, f"the loop device's backing file{', -part and number' if part else ''} and size in bytes")
    text = f"{kernel.node(device.name)}:{device.size_bytes}"
    return Demand(text, "the device's path and size in bytes, as it has no serial number")


def _is_unique(kernel: Kernel, device: BlockDevice) -> bool:
    """Namespaces of one NVMe controller share its serial number, and cheap bridges all have the same one."""
    same = {disk.name for disk in disks(kernel) if disk.serial == device.serial}
    paths = {twin.name for twin in twins(kernel, device)}
    return same <= {device.disk, *paths}


def words_of(targets: Sequence[Target], typed: Sequence[str], kernel: Kernel) -> list[str | None]:
    """Of each target the word that was typed for it; None where none was.

    That of a single target is its own whatever it says: `decide` compares it and tells what was expected. Of several
    each takes the one that identifies it exactly; `decide` compares again, under the claim. Raises UsageError for more
    words than targets, for the same one twice, and for one that identifies none of them: another object was meant.
    """
    if len(typed) > len(targets):
        raise UsageError(
            f"one {OPTION}, for one target" if len(targets) == 1 else f"at most one {OPTION} for each of the targets",
            f"{len(typed)}",
            hint="Each word allows to overwrite the one target that it identifies.",
        )
    if len(targets) == 1:
        return [typed[0] if typed else None]
    if again := next((word for index, word in enumerate(typed) if word in typed[:index]), None):
        raise UsageError("words that differ", f"{OPTION} {quoted(again)} twice")
    demands = [demand(target, kernel) for target in targets]
    for word in typed:
        if not any(wanted is not None and wanted.is_met_by(word) for wanted in demands):
            raise UsageError(
                f"with {OPTION} what identifies one of the targets", f"{OPTION} {quoted(word)}",
                hint=f"Without {OPTION}, --dry-run tells which word each target needs, if any, and what would be lost.",
            )  # fmt: skip
    return [next((word for word in typed if wanted is not None and wanted.is_met_by(word)), None) for wanted in demands]


def refusals_can_be_lifted(checks: Sequence[Check]) -> bool:
    """Whether every refusal is about content, so that the user's word is enough."""
    return all(check.overridable for check in checks if check.outcome is Outcome.REFUSED)


def decide(target: Target, checks: Sequence[Check], typed: str | None, kernel: Kernel) -> None:
    """Raises TargetRefused unless writing is allowed. Says what to type and what would be lost."""
    refusals = [check for check in checks if check.outcome is Outcome.REFUSED]
    final = [check for check in refusals if not check.overridable]
    if final:
        raise _refusal(target, final, "\n  ".join(dict.fromkeys(check.remedy for check in final)))
    wanted = demand(target, kernel)
    if typed is not None and (wanted is None or not wanted.is_met_by(typed)):
        # Also where no permission is needed: the user had another object in mind.
        raise _wrong_word(target, wanted, typed, refusals)
    if refusals and typed is None:
        raise _refusal(target, refusals, what_to_type(wanted, refusals))


def what_to_type(wanted: Demand | None, refusals: Sequence[Check]) -> str:
    """The losses and the option, or that there is none."""
    lost = list(dict.fromkeys(item for check in refusals for item in check.loses))
    losses = "This would be lost for ever:" + "".join(f"\n    - {item}" for item in lost) if lost else ""
    if wanted is None:
        return f"{losses}\n  Choose another target.".strip()
    return f"{losses}\n  If that is meant, repeat {wanted.what}:\n    {OPTION} {quoted(wanted.text)}".strip()


def quoted(text: str) -> str:
    """Ready for a shell, as a word of its own; what is not printable is shown escaped, never sent to the terminal."""
    if text.isprintable():
        return "'" + text.replace("'", "'\\''") + "'"
    return f"$'{_escaped(text)}'"


def _refusal(target: Target, checks: Sequence[Check], hint: str) -> TargetRefused:
    found = "; ".join(check.says for check in checks)
    return TargetRefused(_expected(checks), printable(found), where=printable(target.asked), hint=hint)


def _expected(checks: Sequence[Check]) -> str:
    names = {check.name for check in checks}
    if names == {"space"}:
        return "room for what would be written"
    return "a target that can be written to" if names <= _UNFIT else "a target that is not in use and holds no data"


def _wrong_word(target: Target, wanted: Demand | None, typed: str, refusals: Sequence[Check]) -> TargetRefused:
    if wanted is None:
        expected, hint = f"no {OPTION}, as nothing existing would be overwritten", f"Leave out {OPTION}."
    else:
        expected, hint = f"{OPTION} {quoted(wanted.text)}", what_to_type(wanted, refusals)
    return TargetRefused(expected, f"{OPTION} {quoted(typed)}", where=printable(target.asked), hint=hint)


def printable(text: str) -> str:
    """Names come from the disk: control characters and broken encodings are escaped, as the bytes that they are."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode("utf-8", "surrogateescape"))
