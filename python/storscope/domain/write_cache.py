"""How full a write cache is, as a counter that importers write and write-cache-full reads.

It is the share of what the cache may hold of writes that the drives do not have yet, 0 to 1, at the end of each
interval. Sources count it of a controller (MSA: write-cache-used) or of the array (a simulation). It is a counter and
no column, since few sources have it.
"""

from __future__ import annotations

from typing import Final

USED: Final = "write_cache_used_ratio"
UNIT: Final = "ratio"
