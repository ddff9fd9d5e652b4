"""HP EVA `evaperf as|cs|vd|pd|vdg|pdg`, as text.

UNVERIFIED: no real output was at hand. What is read follows the manual of the P6000 performance tool: tables whose
headings may be split over several lines ('Read' above 'Hit' above 'Req/s'), columns known by the words of their
headings in any order, where they stand found from the blanks that run through the whole table. A name with blanks is
kept whole when its column is the last, or has a heading above its first word. Times come from a line of their own
before a table, or a column; with -nots from --start and --interval.

What the importers of evaperf share is told in `_evaperf.py` (owner and proxy rows) and `_evaperf_columns.py` (units:
MB = 10^6 bytes; latency in ms unless the heading says us).
"""

from __future__ import annotations

from storscope.sources.importer import Importer
from storscope.sources.importers._evaperf_format import CARRIES, NEVER, NOT_YET, SUPPORTS, reader, recogniser
from storscope.sources.importers._evaperf_rows import text_rows

_CAPTURE = "evaperf vd -sz ARRAY -cont 20"

IMPORTER = Importer(
    name="evaperf_text",
    title="HP EVA evaperf, text",
    supports=SUPPORTS,
    how_to_capture=f"{_CAPTURE} > vd.txt",
    recognise=recogniser(text_rows),
    read=reader(text_rows, "a heading of evaperf (Read Hit Req/s, Online To, Ctlr, ...)", _CAPTURE),
    version=3,
    carries=CARRIES,
    not_yet=NOT_YET,
    never=NEVER,
)
