"""HP EVA `evaperf as|cs|vd|pd|vdg|pdg -csv`.

UNVERIFIED: no real output was at hand. What is read follows the manual of the P6000 performance tool and published
scripts for EVA 4400, 6500 and 8400: the columns by the words of their headings, in any order. Times come from a column
'Time' (or 'Date' and 'Time') or from a line of their own; with -nots from --start and --interval. -nh (no heading)
cannot be read, because columns are never known by their place.

What the importers of evaperf share is told in `_evaperf.py` (owner and proxy rows) and `_evaperf_columns.py` (units:
MB = 10^6 bytes; latency in ms unless the heading says us).
"""

from __future__ import annotations

from storscope.sources.importer import Importer
from storscope.sources.importers._evaperf_format import CARRIES, NEVER, NOT_YET, SUPPORTS, reader, recogniser
from storscope.sources.importers._evaperf_rows import csv_rows

_CAPTURE = "evaperf vd -sz ARRAY -csv -cont 20"

IMPORTER = Importer(
    name="evaperf_csv",
    title="HP EVA evaperf, CSV",
    supports=SUPPORTS,
    how_to_capture=f"{_CAPTURE} > vd.csv",
    recognise=recogniser(csv_rows),
    read=reader(csv_rows, "a heading line of evaperf, such as ID,Read Hit Req/s,...,Online To,Ctlr,", _CAPTURE),
    version=3,
    carries=CARRIES,
    not_yet=NOT_YET,
    never=NEVER,
)
