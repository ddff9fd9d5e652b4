"""Every benchmark, one after the other: `make bench` or `uv run python -m benches`."""

from __future__ import annotations

from benches import diagnose_day, help_time, load_cpu, load_rates, simulate, wide_csv

for bench in (help_time, wide_csv, diagnose_day, load_cpu, load_rates, simulate):
    print(f"── {bench.__name__.removeprefix('benches.')}: {(bench.__doc__ or '').splitlines()[0]}")
    bench.main()
