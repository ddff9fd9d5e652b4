"""Collecting: the counters of this host become a capture of a store."""

from __future__ import annotations

import platform
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import storscope
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.sources.collectors.background import Background
from storscope.sources.collectors.kernel_counters import KernelCounters
from storscope.store import CaptureInfo, Store

_ID_LENGTH = 16


@contextmanager
def collecting(
    store: Store, *, devices: Collection[str] | None = None, interval_ns: int = NS_PER_S
) -> Iterator[Background]:
    """Collects the kernel's I/O counters while the `with` lasts; then they are in the store as a capture.

    If it ends by an exception nothing is stored. Raises InputError where the kernel shows no disk statistics.
    """
    collected: list[KernelCounters] = []

    def info() -> CaptureInfo:
        digest = collected[0].digest
        return CaptureInfo(
            id=digest[:_ID_LENGTH], path=f"live counters of {platform.node()}", sha256=digest, size_bytes=0,
            format="kernel-counters", importer_version=1, imported_at_ns=time.time_ns(),
            imported_on=platform.node(), storscope_version=storscope.__version__,
            options={"interval": f"{interval_ns / NS_PER_S:g} s"},
        )  # fmt: skip

    with store.writer(info) as writer:
        recorder = Recorder(writer.write)
        collected.append(KernelCounters(recorder, platform.node(), devices))
        with Background(collected[0], interval_ns) as background:
            yield background
        recorder.finish()
        writer.commit(recorder)
