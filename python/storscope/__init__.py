"""storscope: a storage performance workbench. Measure, diagnose, predict, change, verify.

The rooms and the arrows between them are drawn in ARCHITECTURE.md.
"""

__version__ = "0.1.0"
