"""Comparing two sides of evidence: choosing it, pairing it, judging the differences. The statistics are in `model`."""

from storscope.compare.comparing import compare_sides
from storscope.compare.selection import Side, parse_side

__all__ = ["Side", "compare_sides", "parse_side"]
