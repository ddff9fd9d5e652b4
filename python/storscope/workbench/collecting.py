"""Collecting: the counters of this host become a capture of a store."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.sources.collectors.background import Background
from storscope.sources.collectors.kernel_counters import KernelCounters
from storscope.store import CaptureInfo, Store
from storscope.workbench.captures import capture_info


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
        options = {"interval": f"{interval_ns / NS_PER_S:g} s"}
        return capture_info(f"live counters of {platform.node()}", digest, 0, "kernel-counters", options=options)

    with store.writer(info) as writer:
        recorder = Recorder(writer.write)
        collected.append(KernelCounters(recorder, platform.node(), devices))
        with Background(collected[0], interval_ns) as background:
            yield background
        recorder.finish()
        writer.commit(recorder)
