"""What makes two sides incomparable, or their comparison doubtful."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from storscope.compare.alike import is_mixed
from storscope.compare.asked import asked_differences, stream_words, told_by_one
from storscope.compare.demand import demand_of
from storscope.compare.endings import ending_warnings
from storscope.compare.matching import Pair
from storscope.compare.metrics import METRICS
from storscope.compare.naming import SIMULATOR
from storscope.compare.prediction import (
    about_demand,
    about_depth,
    about_lengths,
    engine_words,
    in_flight_words,
    is_near,
    predicted_side,
    sides,
)
from storscope.compare.same_load import load_differences
from storscope.compare.subjects import Subject
from storscope.compare.wording import listed
from storscope.domain.comparison import Load
from storscope.domain.units import format_bytes, format_count, format_ratio, format_span

_DURATION_TOLERANCE = 1.25
_CONCURRENCY_TOLERANCE = 1.2
"""In-flight numbers that differ by more make latencies incomparable: 20 % more in flight is up to 20 % more latency."""
_OTHER_SHARE = 0.05
"""By so much may what a stream did of all I/Os differ before figures of all streams together are doubted. Ours."""
_STREAM_BY_STREAM: Final = (
    "stream=NAME beside run= on both sides compares some of them, of a simulated run entity=NAME one volume"
)
_OWN_ENGINE = "storscope"
"""Our own benchmark runs until its result is precise enough, so that its runs differ in length by design."""
_OWN_ENGINES: Final = {_OWN_ENGINE, SIMULATOR}
_OF_A_MIX: Final = ("block_bytes", "read_ratio", "random_ratio")

_FIELDS: Final[dict[str, tuple[str, Callable[[float | None], str]]]] = {
    "block_bytes": ("block size", format_bytes),
    "read_ratio": ("share of reads", format_ratio),
    "random_ratio": ("share of random access", format_ratio),
    "outstanding": ("number of outstanding I/Os", format_count),
    "workers": ("number of jobs", format_count),
}


def load_conflicts(pair: Pair) -> list[str]:
    """What was configured, or asked of a running system, differently: each makes the two incomparable."""
    one, other = pair.before[0], pair.after[0]
    if not one.is_run:
        demand = demand_of(pair)
        return [demand.words] if demand.is_other and predicted_side(pair) is None else []
    names = _names(pair)
    found = [
        f"{_FIELDS[name][0]} {_FIELDS[name][1](a)} {names[0]}, {_FIELDS[name][1](b)} {names[1]}"
        for name, a, b in load_differences(one, other)
        if name != "outstanding" or not _predicts_the_depth_that_was_kept(pair)
    ]
    if {one.engine, other.engine} <= _OWN_ENGINES and len(one.asked.streams) == len(other.asked.streams):
        found += _mixes(one.load, other.load, names)
    found += asked_differences(one.asked, other.asked, names)
    lengths = _unlike_lengths(pair)
    if lengths and predicted_side(pair) is None:
        found.append(f"ran {_length_words(pair.before)} before, {_length_words(pair.after)} after")
    return found


def _names(pair: Pair) -> tuple[str, str]:
    """What the sides are called: 'before' and 'after', of a prediction as the columns of its table are."""
    (one, _), (other, _) = sides(pair)
    return one, other


def _predicts_the_depth_that_was_kept(pair: Pair) -> bool:
    """A generator that was told 64 and kept 29 is rightly predicted with 29."""
    one, other = (_mean(group, "in_flight") for group in (pair.before, pair.after))
    return predicted_side(pair) is not None and bool(one and other) and is_near(one or 1.0, other or 1.0)


def _unlike_lengths(pair: Pair) -> tuple[float, float] | None:
    """How long the sides ran, where that is a choice and not the same."""
    before, after = (_length_ns(group) for group in (pair.before, pair.after))
    if not before or not after or _OWN_ENGINE in (pair.before[0].engine, pair.after[0].engine):
        return None
    return (before, after) if max(before, after) / min(before, after) > _DURATION_TOLERANCE else None


def _mixes(one: Load, other: Load, names: tuple[str, str]) -> list[str]:
    """Our own runs leave out what is not one number, so that a mix on one side is another load than a number."""
    found = []
    for name in _OF_A_MIX:
        label, shown = _FIELDS[name]
        values = [getattr(load, name) for load in (one, other)]
        if (values[0] is None) != (values[1] is None):
            before, after = ("several" if value is None else shown(value) for value in values)
            found.append(f"{label} {before} {names[0]}, {after} {names[1]}")
    return found


def _length_ns(group: Sequence[Subject]) -> float | None:
    """How long they ran on average, with a warm-up that their figures leave out: how long that is, is no choice."""
    known = _lengths_ns(group)
    return sum(known) / len(known) if known else None


def _lengths_ns(group: Sequence[Subject]) -> list[int]:
    return [subject.duration_ns + subject.warm_up_ns for subject in group if subject.duration_ns]


def _length_words(group: Sequence[Subject]) -> str:
    """'60 s', and of repetitions of unlike lengths, none of which ran their mean, '60 s to 10 min'."""
    known = _lengths_ns(group)
    if max(known) / min(known) > _DURATION_TOLERANCE:
        return f"{format_span(min(known))} to {format_span(max(known))}"
    return format_span(sum(known) / len(known))


def warnings_of(pair: Pair) -> list[str]:
    """Doubts that weigh on the comparison, each a sentence."""
    found = ending_warnings(pair)
    found += _streams(pair)
    found += _changes(pair)
    found += _own_doubts(pair)
    found += _makers(pair)
    found += _concurrency(pair) if pair.before[0].is_run else _demand(pair)
    return found


def _streams(pair: Pair) -> list[str]:
    """Of two mixes by one name one may be limited, or have a stream more: their means are of unlike I/Os. So they are
    where a stream brings as much as it is let, and that changed."""
    one, other = pair.before[0].streams, pair.after[0].streams
    unlike = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
    if not (one and other and unlike):
        return _stream_shares(pair)
    names = listed([f"'{name}'" for name in unlike], 2)
    which = f"The stream {names} was" if len(unlike) == 1 else f"The streams {names} were"
    why = "The figures are of the I/Os of all streams together, whose shares have changed, too"
    return [f"{which} not the same on both sides. {why}; {_STREAM_BY_STREAM}."]


def _stream_shares(pair: Pair) -> list[str]:
    """Where streams that were the same did other shares of the I/Os."""
    one, other = (_shares_of_ios(group) for group in (pair.before, pair.after))
    if one.keys() != other.keys() or not one:
        return []
    name = max(one, key=lambda name: abs(other[name] - one[name]))
    if abs(other[name] - one[name]) < _OTHER_SHARE:
        return []
    names = _names(pair)
    shares = f"{format_ratio(one[name])} of the I/Os {names[0]}, {format_ratio(other[name])} {names[1]}"
    did = f"The stream '{name}' did {shares}"
    why = "The figures are of all streams together, so that another mix changes them, too"
    return [f"{did}. {why}; {_STREAM_BY_STREAM}."]


def _shares_of_ios(group: Sequence[Subject]) -> dict[str, float]:
    """Stream -> its share of what all did in these runs; nothing where that is not known of each run."""
    names = group[0].stream_ios.keys()
    if any(run.stream_ios.keys() != names for run in group):
        return {}
    done = {name: sum(run.stream_ios[name] for run in group) for name in names}
    whole = sum(done.values())
    return {name: ios / whole for name, ios in done.items()} if whole > 0 else {}


def _changes(pair: Pair) -> list[str]:
    """A run in which a drive failed mixes the figures of before and after that."""
    found = []
    for side, group in (("before", pair.before), ("after", pair.after)):
        words = [f"'{words}'" for words in dict.fromkeys(words for run in group for words in run.changes)]
        if words:
            found.append(
                f"Changed {side}, during the run: {listed(words, 2)}. Its figures are of all its phases together; "
                "since= and until= with the time since its start take one of them."
            )
    return found


def _own_doubts(pair: Pair) -> list[str]:
    """What the runs said of themselves when they ended, which whoever compares them later has not seen."""
    found = []
    for side, group in sides(pair):
        doubted = [run.doubts for run in group if run.doubts]
        if doubted:
            which = "" if len(group) == 1 else f" ({len(doubted)} of {len(group)} runs)"
            found.append(f"Doubted {side}{which}: {doubted[0]}")
    return found


def _by_stream(subject: Subject, name: str, form: Callable[[float | None], str]) -> str:
    """'4 KiB of stream 'a', 64 KiB of stream 'b'': of several streams that tell it each for itself; else nothing."""
    values = [getattr(load, name) for load in subject.asked.loads]
    if not values or None in values:
        return ""
    named = enumerate(zip(subject.asked.streams, values, strict=True), 1)
    return listed([f"{form(value)} of {stream_words(stream, number)}" for number, ((stream, _), value) in named])


def _makers(pair: Pair) -> list[str]:
    """Which of our engines serves a target better is tried before each run, and may be taken for another next time."""
    one, other = (sorted({run.made_by for run in group} - {""}) for group in (pair.before, pair.after))
    if one == other or not (one and other) or {pair.before[0].engine, pair.after[0].engine} != {_OWN_ENGINE}:
        return []
    made = f"I/Os were made by {listed(one)} before, by {listed(other)} after"
    return [f"{made}: a part may be the engines', of which each run takes the better one; bench --ioengine fixes it."]


def _mean(group: Sequence[Subject], metric: str) -> float | None:
    values = [subject.measured().value(METRICS[metric]) for subject in group]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _concurrency(pair: Pair) -> list[str]:
    """Little's law on both sides: rate x latency is what was in flight."""
    if any(subject.has_fixed_rate for subject in (*pair.before, *pair.after)):
        return []
    one, other = (_mean(group, "in_flight") for group in (pair.before, pair.after))
    if predicted_side(pair) is not None:
        return about_depth(pair, one, other)
    found = []
    if one and other and max(one, other) / min(one, other) > _CONCURRENCY_TOLERANCE:
        found.append(
            f"Unequal concurrency: by Little's law (IOPS × latency) {in_flight_words(one)} I/Os were in flight before "
            f"and {in_flight_words(other)} after. The latencies do not compare directly; look at IOPS beside them."
        )
    for side, group, flight in (("before", pair.before, one), ("after", pair.after, other)):
        configured = group[0].load.outstanding
        if not flight or not configured or (group[0].asked.has_pauses and flight < configured):
            continue
        if not 1 / _CONCURRENCY_TOLERANCE < flight / configured < _CONCURRENCY_TOLERANCE:
            found.append(
                f"Of {format_count(configured)} configured outstanding I/Os {in_flight_words(flight)} were in flight "
                f"{side}: the generator paused or waited, or the table does not hold together."
            )
    return found


def _demand(pair: Pair) -> list[str]:
    """Operations of a running system are what users asked for; a prediction at another load is none of its latency."""
    rates = [_mean(group, "iops") for group in (pair.before, pair.after)]
    if predicted_side(pair) is None or not rates[0] or not rates[1]:
        return []
    change = rates[1] / rates[0] - 1
    if 1 / _CONCURRENCY_TOLERANCE < 1 + change < _CONCURRENCY_TOLERANCE:
        return []
    return [about_demand(pair, change)]


def notes_of(pair: Pair) -> list[str]:
    """What the reader should know, without weight on the verdict."""
    found = list(pair.notes)
    one, other = pair.before[0], pair.after[0]
    if not one.is_run:
        return found
    names = _names(pair)
    for name, (words, form) in _FIELDS.items():
        a, b = getattr(one.load, name), getattr(other.load, name)
        if (a is None) != (b is None):
            side, silent, told = (names[0], one, b) if a is None else (names[1], other, a)
            how = _by_stream(silent, name, form) or "not stated"
            found.append(f"The {words} is {how} {side} ({form(told)} on the other side).")
    found += [
        f"The {words} is not stated {side} ({said} on the other side)."
        for words, side, said in told_by_one(one.asked, other.asked, names)
    ]
    if all(getattr(side.load, name) is None for side in (one, other) for name in _FIELDS):
        found.append("Neither side states its load; that both ran the same is taken from you.")
    for side, group in (("before", pair.before), ("after", pair.after)):
        if count := sum(run.stands_for for run in group):
            runs, was = ("run", "was") if count == 1 else ("runs", "were")
            found.append(
                f"Left out {side}: {format_count(count)} {runs} that {was} cut off and that the sweep made again."
            )
    engines = [sorted({str(subject.engine) for subject in group}) for group in (pair.before, pair.after)]
    if engines[0] != engines[1] and "unknown" not in (*engines[0], *engines[1]):
        unlike = "." if is_mixed(pair) else ": they do not time I/Os alike."
        by = f"Measured by {listed(engines[0])} before, by {listed(engines[1])} after"
        found.append(f"{by if predicted_side(pair) is None else engine_words(pair)}{unlike}")
    if predicted_side(pair) is not None and (lengths := _unlike_lengths(pair)):
        found.append(about_lengths(*lengths, names))
    return found
