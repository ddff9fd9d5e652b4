"""May a benchmark write there? People's data depends on the answer, so the answer is no unless it is proved to be yes.

    resolve(path)             what a path really is: file, directory, block device; anything else is refused
    plan(path, intent)        what would be done and whether it may, without doing it
    open_for_reading(path)    read-only, asks nobody
    open_for_writing(path)    checks and open of the same object; hands out the descriptor for the engine
    create(directory, size)   a scratch file, removed at the end or, after a crash, by `sweep` at the next start
                              (or at once, see `afterwards.py`)
    extents(path)             what of a file is written, unwritten, a hole or not yet on the device

Refused for good: what is in use now (mounted, held, swap, claimed, open for writing elsewhere, read-only, no room).
Refused unless the user repeats what identifies the target: anything with content (a signature, partitions, data, a file
that storscope did not create), a system disk, a file with several names. docs/safety.md tells it to users.

Supports Linux. Beware: as a user without privileges one does not see what other users' processes have open; the check
then says so. A process that opens a device for writing without a claim after the checks cannot be kept out.
"""

from storscope.bench.safety.access import Inspection, OpenTarget, inspect, open_for_reading, open_for_writing
from storscope.bench.safety.check import Check, Outcome
from storscope.bench.safety.extents import Extent, ExtentMap, extents, extents_of
from storscope.bench.safety.kernel import DeviceNumber, Kernel
from storscope.bench.safety.ownership import Journal
from storscope.bench.safety.permission import OPTION, Demand, demand, words_of
from storscope.bench.safety.plan import Intent, Plan, plan
from storscope.bench.safety.scratch import Leftover, Scratch, Swept, create, sweep
from storscope.bench.safety.stack import bytes_of
from storscope.bench.safety.target import (
    DeviceTarget,
    DirectoryTarget,
    FileTarget,
    Identity,
    NewFileTarget,
    Target,
    resolve,
)

__all__ = [
    "OPTION", "Check", "Demand", "DeviceNumber", "DeviceTarget", "DirectoryTarget", "Extent", "ExtentMap", "FileTarget",
    "Identity", "Inspection", "Intent", "Journal", "Kernel", "Leftover", "NewFileTarget", "OpenTarget", "Outcome",
    "Plan", "Scratch", "Swept", "Target", "bytes_of", "create", "demand", "extents", "extents_of", "inspect",
    "open_for_reading", "open_for_writing", "plan", "resolve", "sweep", "words_of",
]  # fmt: skip
