"""Block traces as workload: what was asked of a device, when, and how long the host thought in between.

The format is recognised by content: a drive trace (`R Hit 7563004 4 14368.0 28778.0`), the text of blkparse, an iolog
of fio, or a CSV file with a heading. Lines that begin with # are passed over. A line that is no request of its format
is an error with its number; what a format holds beside requests is counted.
"""

from storscope.sim.traces.read import read_trace
from storscope.sim.traces.trace import Trace

__all__ = ["Trace", "read_trace"]
