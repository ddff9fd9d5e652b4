"""Captures that storscope makes of its own work: what the store is told of them, and how they are written."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping

import storscope
from storscope.domain.recorder import Recorder
from storscope.store import CaptureInfo, Store

SIMULATION = "storscope-simulation"
"""The format of captures of simulated runs."""
_ID_LENGTH = 16


def capture_id(digest: str) -> str:
    """The name of a capture of this digest."""
    return digest[:_ID_LENGTH]


def capture_info(
    path: str, digest: str, size_bytes: int, form: str, *, version: int = 1, options: Mapping[str, str] | None = None
) -> CaptureInfo:
    """Of what is written here and now; named by its digest (SHA-256), so that twice the same makes one capture."""
    return CaptureInfo(
        id=capture_id(digest),
        path=path,
        sha256=digest,
        size_bytes=size_bytes,
        format=form,
        importer_version=version,
        imported_at_ns=time.time_ns(),
        imported_on=platform.node(),
        storscope_version=storscope.__version__,
        options={} if options is None else dict(options),
    )


def keep(store: Store, info: CaptureInfo, record: Callable[[Recorder], None]) -> str:
    """Writes a capture, whole or not at all; returns its name."""
    with store.writer(info) as writer:
        recorder = Recorder(writer.write)
        record(recorder)
        recorder.finish()
        writer.commit(recorder)
    return info.id
