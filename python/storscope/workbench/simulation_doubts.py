"""What a simulated run is doubted for beside a level that moved: caches that filled, steps it fell behind, no time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from storscope.bench.goals import has_steps
from storscope.bench.judgement import Judgement
from storscope.bench.rate_steps import RateStepFigures
from storscope.bench.samples import Sample, Samples
from storscope.domain.units import NS_PER_S
from storscope.sim.phases import Phase
from storscope.sim.replay import TracePlan
from storscope.sim.simulation import SimulationPlan
from storscope.sim.takeovers import silence_at_end
from storscope.sim.window import window
from storscope.workbench.below_a_sector import doubts_of_sectors
from storscope.workbench.cache_filling import doubts_of_cache, doubts_of_reads
from storscope.workbench.credits_left import doubts_of_credits
from storscope.workbench.curve_doubts import doubts_of_curves
from storscope.workbench.falling_behind import doubts_of_short_steps, doubts_of_steps
from storscope.workbench.mirrored_readers import doubts_of_mirrored_readers
from storscope.workbench.no_time import doubts_of_no_time
from storscope.workbench.replay_behind import doubts_of_replay
from storscope.workbench.simulation_judgement import longer_words, silent_at_end_words
from storscope.workbench.ungathered_stripes import doubts_of_ungathered_stripes
from storscope.workbench.write_order import doubts_of_write_order

_LEAST_IOS: Final = 100


def doubts_of_run(
    plan: SimulationPlan, array: Mapping[str, Any], samples: Samples, judgement: Judgement, stretches: Sequence[Phase],
    steps: Sequence[RateStepFigures], *, has_changes: bool,
) -> tuple[str, ...]:  # fmt: skip
    """Sentences; of a replay, which is what was recorded, caches are not doubted."""
    counted = samples.between(judgement.from_ns)
    found = doubts_of_no_time(counted)
    if isinstance(plan, TracePlan):
        return (*doubts_of_replay(plan, samples.between(0), array), *found)
    sectors = doubts_of_sectors(plan.workload)
    stripes = doubts_of_ungathered_stripes(plan)
    few = _few(counted, array, judgement.to_ns)
    found = (*few, *sectors, *stripes, *doubts_of_curves(plan), *doubts_of_credits(array), *found)
    if not stretches:
        return found
    filling = _filling(plan, array, judgement, stretches, has_changes=has_changes)
    short = doubts_of_short_steps(steps, plan.interval_ns or NS_PER_S)
    shown = window(array, judgement.from_ns, judgement.to_ns)
    order = doubts_of_write_order(plan, shown)
    readers = () if len(stretches) > 1 else doubts_of_mirrored_readers(plan, samples.between(0), shown)
    return (*filling, *doubts_of_steps(steps), *short, *order, *readers, *found)


def _few(samples: Sequence[Sample], array: Mapping[str, Any], end_ns: int) -> tuple[str, ...]:
    """A sentence if so few I/Os were answered that the slowest of them is their p99, or none at all."""
    ios = sum(part.ios for sample in samples for part in sample.parts(None))
    if ios >= _LEAST_IOS:
        return ()
    if not ios:
        if (silence := silence_at_end(array, end_ns)) is not None:
            return (f"No I/O was answered in the time that counts. {silent_at_end_words(silence)}",)
        waiting = max(array["components"], key=lambda one: one["queue_mean"], default=None)
        if waiting is None or not waiting["queue_mean"]:
            return ("No I/O was answered in the time that counts, and none waits: none was asked for.",)
        where = f"Most wait at {waiting['kind'].replace('_', ' ')} {waiting['name']}."
        return (f"No I/O was answered in the time that counts. {where} Simulate longer, with --duration.",)
    counted = "1 I/O counts" if ios == 1 else f"{ios} I/Os count"
    few = f"Only {counted}, which is too few to tell: of fewer than {_LEAST_IOS} p99 is the slowest"
    return (f"{few}. Simulate more, with --ios or --duration.",)


def _filling(
    plan: SimulationPlan, array: Mapping[str, Any], judgement: Judgement, stretches: Sequence[Phase], *,
    has_changes: bool,
) -> tuple[str, ...]:  # fmt: skip
    """Of the run's last stretch; where nothing was scheduled, else of the whole run: what one rate step leaves in the
    cache makes it quicker, too. Of a run with changes what came before may have been another array.
    """
    last, whole = (stretches[-1].from_ns, stretches[-1].to_ns), (judgement.from_ns, judgement.to_ns)
    spans = [last] if has_changes else [last, whole] if len(stretches) > 1 else [whole]
    steps = has_steps(plan.workload)
    longer = "Let its rate steps last longer" if steps else longer_words(plan, judgement.to_ns)
    for span in spans:
        shown, second_half = window(array, *span), window(array, sum(span) // 2, span[1])
        found = (*doubts_of_cache(shown, second_half, longer), *_reads(plan, shown, longer))
        if found:
            return found
    return ()


def _reads(plan: SimulationPlan, shown: Mapping[str, Any], longer: str) -> tuple[str, ...]:
    read = (plan.design.form["cache"] or {}).get("read")
    keeps_reads = read is not None and read.get("size_bytes") is not None
    return doubts_of_reads(shown, _used_bytes(plan), keeps_reads=keeps_reads, longer=longer)


def _used_bytes(plan: SimulationPlan) -> list[int]:
    """How much of each target the streams' regions hold; all of it where none uses it."""
    used = []
    for index, attachment in enumerate(plan.design.attachments):
        regions = [one.region for one in plan.workload.streams if not one.targets or index in one.targets]
        ends = [one.start_bytes + one.length_bytes if one.length_bytes else attachment.size_bytes for one in regions]
        held = sum(end - one.start_bytes for end, one in zip(ends, regions, strict=True))
        used.append(min(held, attachment.size_bytes) if regions else attachment.size_bytes)
    return used
