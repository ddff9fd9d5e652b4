"""fio jobs in one line, and what reading them gives."""

from __future__ import annotations

from storscope.bench.workloads.fio_job import read_fio
from storscope.domain.workload import AccessSpec, Mix, Stream


def job(options: str, head: str = "[j]\n") -> Stream:
    return read_fio(head + options.replace(" ", "\n")).workloads[0].streams[0]


def lines(stream: Stream) -> tuple[AccessSpec, ...]:
    assert isinstance(stream.access, Mix)
    return stream.access.lines


def losses_of(options: str) -> str:
    return "\n".join(map(str, read_fio("[j]\n" + options.replace(" ", "\n")).losses))
