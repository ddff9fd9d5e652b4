"""The Rust core. Lines count from 1, bytes from 0. Times are nanoseconds."""

import os

import numpy as np
import numpy.typing as npt

__version__: str

class ReadError(Exception):
    """What the reader refuses; args are (kind, message).

    Kinds: io, no_header, line_too_long, too_many_columns, unclosed_quote, shrunk. Turned into the error tree by
    `storscope.sources._core_errors`, nowhere else.
    """

    args: tuple[str, str]

class WideCsv:
    """A wide counter CSV (PDH-CSV 4.0 and its tab-separated form), read block by block.

    The file is read, not mapped. A line of over 64 MiB and a header of over a million columns raise ReadError.
    """

    def __init__(self, path: str | os.PathLike[str], offset: int = 0) -> None:
        """Reads the header: the first line from byte `offset` on that is not blank."""

    @property
    def names(self) -> list[bytes]:
        """The names of the columns, the clock's first, without the quotes around them; their encoding is not known."""

    @property
    def separator(self) -> str:
        """A comma, a tab or a semicolon."""

    @property
    def header_line(self) -> int:
        """The line of the header, counted from `offset`."""

    @property
    def blank_lines(self) -> int:
        """Blank lines that were skipped so far."""

    @property
    def section_end(self) -> int | None:
        """The byte of another header at which the rows ended, also in a line; None when they ended with the file."""

    def next_block(self, max_rows: int) -> WideCsvBlock | None:
        """The next rows, found and not yet read; None after the last. Releases the interpreter lock."""

class WideCsvPlan:
    """What becomes of each column after the first: value = cell * factor + offset, into the column's slot.

    `slots` has one element a column: -1 for one that is not wanted, no slot twice. `numbers` has shape (4, columns):
    factor, offset, low, high. A cell outside low..high is counted as impossible and becomes NaN; a slot without a
    column is NaN. With `decimal_comma` a comma inside a cell is a decimal point.
    """

    def __init__(
        self,
        slots: npt.NDArray[np.int32],
        numbers: npt.NDArray[np.float64],
        *,
        slot_count: int,
        decimal_comma: bool = False,
    ) -> None: ...

class WideCsvBlock:
    """Consecutive rows of the file."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def end(self) -> int:
        """The byte after the last of them."""

    @property
    def first_line(self) -> int:
        """The line of the first of them, counted from `offset`."""

    def read(
        self,
        plan: WideCsvPlan,
        values: npt.NDArray[np.float64],
        times: npt.NDArray[np.int64],
        *,
        threads: int = 1,
    ) -> WideCsvTally:
        """Fills `values`, of shape (slot_count, rows), and `times`, of shape (rows,): both C-contiguous.

        Times are of naive local time, or the least int64 where the stamp has another form than
        MM/DD/YYYY HH:MM:SS[.fraction]. Releases the interpreter lock: leave the arrays alone until it returns.
        """

    def points(self) -> int:
        """How many cells are numbers with a decimal point; reads the rows again."""

class WideCsvTally:
    """What was met in the wanted columns of a block.

    A line whose first cell has no digit is a message of the tool: it is in `stamps`, and nothing else counts it.
    """

    @property
    def blank(self) -> int:
        """Cells without content."""

    @property
    def unparsable(self) -> int:
        """Cells with something that is no finite number."""

    @property
    def commas(self) -> int:
        """Those among them that are numbers with a decimal comma, where the plan has none."""

    @property
    def impossible(self) -> int:
        """Numbers outside the bounds of their column."""

    @property
    def missing(self) -> int:
        """Cells of rows that ended before their column."""

    @property
    def short_rows(self) -> int:
        """Rows with such cells."""

    @property
    def extra(self) -> int:
        """Cells beyond the header."""

    @property
    def long_rows(self) -> int:
        """Rows with cells beyond the header."""

    @property
    def stamps(self) -> list[tuple[int, bytes]]:
        """Row in the block and first 64 bytes of each time stamp of another form."""

class RunError(Exception):
    """What the load generator refuses; args are (kind, message).

    Kinds: workload, plan, open, failed, mismatch, device, panicked. Turned into the error tree by
    `storscope.bench.engine`, nowhere else.
    """

    args: tuple[str, str]

class LoadRun:
    """A run of the load generator under way. All calls release the interpreter lock.

    One thread drives it: `stop` from another one waits until a `next` that is waiting has returned. Dropping the
    object stops the run and waits for what is in flight.
    """

    def __init__(self, plan: str) -> None:
        """Opens the targets and starts the workers of a plan as JSON (crates/storscope-load/src/plan.rs).

        A descriptor in the plan is duplicated and stays the caller's. Raises RunError.
        """

    @property
    def started_ns(self) -> int | None:
        """UTC since 1970 that intervals count from; None while the workers prepare."""

    @property
    def is_ready(self) -> bool:
        """Whether all workers are ready: trials of the engine are over, and no I/O is in flight."""

    def begin(self) -> None:
        """Lets the workers of a plan that is `held` start, now or as soon as they are ready; `finish` does too."""

    def next(self, timeout_s: float) -> bytes | None:
        """The next interval as JSON (tally.rs), `{}` if none is complete in time, None after the last."""

    def stop(self) -> None:
        """Ends the run soon; take the rest with `next` or pass over it with `finish`."""

    def finish(self) -> bytes:
        """Waits for the end: JSON with `result` (result.rs), `doubts_in_words`, `stream_doubts_in_words` and `error`
        (kind, message) or null.

        The run is over then: every further call but `stop` raises RuntimeError.
        """

def plan_buffer_bytes(plan: str) -> int:
    """Memory for the data of all I/Os in flight of a plan as JSON, with untouched targets; null targets need none.

    Raises RunError for a plan that cannot be run, or that this process has no memory for now.
    """

def queue_run(plan: str, *, servers: int, service_mean_ns: int, seed: int) -> bytes:
    """Runs a plan as JSON on a simulated queue in virtual time; its targets are null targets. Releases the lock.

    The queue is first come, first served, with exponential service times: M/M/c where arrivals are Poisson. JSON as
    of `LoadRun.finish`, with `intervals` beside it. Raises RunError.
    """

class DesignError(Exception):
    """What is wrong with a design: (line, column, key, expected, found, hint); places count from 1 and may be absent.

    Turned into the error tree by `storscope.sim.design`, nowhere else.
    """

    args: tuple[int | None, int | None, str, str, str, str | None]

def read_design(text: str) -> bytes:
    """A design from its TOML text, checked and completed from the catalogue of drives: JSON with `design`
    (crates/storscope-types/src/design), `attachments`, a list of host, volume and size_bytes in the order of the
    targets of a load, and `shapes`, of each group its drive_bytes, segments of data and parity in a set, copies and
    usable_bytes. Raises DesignError.
    """

def drive_catalogue() -> bytes:
    """The drives that designs may name: JSON, a list of name, title, class, sources (what, origin, source), design."""

class FitError(Exception):
    """Why no drive can be fitted: (line, message); the line counts from 1 and is None unless the evidence has it.

    Turned into the error tree by `storscope.sim.fitting`, nowhere else.
    """

    args: tuple[int | None, str]

def fit_drive_to_trace(text: str, frame: str, share: float) -> bytes:
    """A mechanical drive from the first `share` of a trace (drive/fit/trace.rs), given its frame (mechanics.rs).

    JSON: design, parameters (how many), numbers (numbers.rs), requests, and on_itself, on_rest, table_on_rest
    (held_back.rs). Takes a minute and more; releases the interpreter lock, and Ctrl-C is raised. Raises FitError.
    """

def fit_drive_to_grid(base: str, grid: str) -> bytes:
    """A drive of the kind of `base`, a design in JSON, from throughput against queue depth: both as grid.rs has them.

    JSON: design, reads, writes, numbers. Releases the interpreter lock, and Ctrl-C is raised. Raises FitError.
    """

class SimulationRun:
    """A run of the load generator on a simulated array, in virtual time, on a thread of its own.

    Used as a `LoadRun`. Dropping the object stops it.
    """

    def __init__(self, design: str, plan: str, options: str) -> None:
        """Starts it: `design` is that of `read_design`, `plan` has null targets with the sizes of the attachments.

        `options` is JSON with `started_unix_ns`, `lifetimes_ns` (per stream a start and an end or null; or empty),
        `slice_ns` and `slices` of the record of queues, `mark_ns` (how often the array notes its counters) and perhaps
        `marked_ns` (when it does, too). Raises RunError; what is found wrong later `finish` raises.
        """

    @property
    def started_ns(self) -> int:
        """UTC since 1970 that intervals count from, as given."""

    def next(self, timeout_s: float) -> bytes | None:
        """As of `LoadRun`."""

    def stop(self) -> None:
        """As of `LoadRun`."""

    def finish(self) -> bytes:
        """As of `LoadRun`, with `array` beside it (crates/storscope-sim/src/array/report.rs).

        Raises RunError of the kinds `design` and `simulator` too: the latter when the books do not balance.
        """

def replay_run(design: str, records: bytes, options: str) -> SimulationRun:
    """Starts a replay of traces on a simulated array, in virtual time.

    `records`: at, think, offset as u64, then length, target, stream and whether it writes as u32, little-endian, in the
    order of each stream. `options` is JSON: `seed`, `started_unix_ns`, `duration_ns` (or null), `interval_ns`,
    `slice_ns`, `slices`, `depth` and `outstanding`, for each stream what a closed loop keeps in flight (null: open).
    Raises RunError, ValueError for records of another form.
    """

def warm_up(series: list[float]) -> int | None:
    """The index that a series is settled from (MSER-5): None when it is not, or is shorter than 20 values.

    Of a series without a warm-up it may name a small index all the same.
    """

def warm_up_within_half(series: list[float]) -> int | None:
    """The same of a series whose second half is known to be settled. None below 20 values."""

def mean_interval(series: list[float], confidence: float) -> tuple[float, float, float] | None:
    """Mean, half the width of its interval, and how many independent values the series is worth.

    Neighbours may depend on each other. None with fewer than eight values.
    """

def strongest_change(series: list[float]) -> tuple[int, float, float, float] | None:
    """First index of the new level, mean before, mean after, probability that chance alone looks like that.

    None with fewer than ten values, or a constant series.
    """

def line_through(series: list[float]) -> tuple[float, float, float, float] | None:
    """Middle of the line of least squares, its change from end to end, the standard deviation of the change, and what
    that would be if neighbours had nothing to do with each other.

    The noise around the line is taken for an autoregression: where one high is made up for by lows behind it, the line
    is surer than of independent values. None with fewer than twenty values, or of a constant series.
    """
