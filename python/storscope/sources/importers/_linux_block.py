"""What importers of text of Linux block devices share."""

from __future__ import annotations

from typing import Final

DEFAULT_LINUX_SYSTEM: Final = "linux-host"
"""System of Linux text that does not name its host, so that several such files meet; --system sets another."""
