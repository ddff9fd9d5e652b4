"""storscope: a storage performance workbench. Measure, diagnose, predict, change, verify.

The rooms and the arrows between them are drawn in ARCHITECTURE.md.
"""

import os

__version__ = "0.1.0"

# Arrow's own allocator keeps what was freed: importing 105 MB of wide CSV peaks at 250 MB with it and at 190 MB with
# the system's, no slower (benches/wide_csv.py). Arrow reads this when it is first imported; a user's choice stands.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
