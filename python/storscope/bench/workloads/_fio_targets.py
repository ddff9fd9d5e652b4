"""Which targets the jobs of a job file have.

fio puts `filename`, an absolute one too, below `directory`, the first of several (fio 3.33). A job without `filename`
works on the device that its section is named for, as `[/dev/sdb]`; else it has files of its own. A job file that names
none is meant for any target: all its jobs have those of the run. Beside jobs that name theirs, a job without gets a
target of its own: it must not write to what another only reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.bench.workloads._fio_given import GivenOptions
from storscope.bench.workloads.loss import LossList


class JobTargets:
    """The `names` of all targets of the jobs, in order."""

    def __init__(self, jobs: Sequence[GivenOptions], losses: LossList) -> None:
        self.names = tuple(dict.fromkeys(name for job in jobs for name in job.filenames))
        self._own: dict[GivenOptions, int] = {}
        nameless = [job for job in jobs if not job.filenames]
        if self.names:
            for job in nameless:
                self._add(job)
        elif len(nameless) > 1:
            _note_shared(nameless, losses)

    def of(self, job: GivenOptions) -> tuple[int, ...]:
        """The indices of a job's targets; empty for all."""
        if job in self._own:
            return (self._own[job],)
        used = tuple(dict.fromkeys(self.names.index(name) for name in job.filenames))
        return () if len(used) == len(self.names) else used

    def _add(self, job: GivenOptions) -> None:
        index = number = len(self.names)
        while (name := f"${{TARGET{number}}}") in self.names:
            number += 1
        self.names = (*self.names, name)
        self._own[job] = index
        reason = f"fio makes files of its own for it; a target of its own here, number {index}, {name} in a job file"
        job.losses.elsewhere(f"[{job.name}]", "filename not given", reason)


def _note_shared(jobs: Sequence[GivenOptions], losses: LossList) -> None:
    """What jobs without a filename, in a file without any, have in common here."""
    if len({job.directories for job in jobs}) > 1:
        reason = "fio makes files in each; here all jobs have the same targets"
        losses.lost("jobs", "directories of their own", reason)
    else:
        reason = "fio makes files for each job; here all jobs have the same targets"
        losses.approximated("jobs", "filename not given", reason)
