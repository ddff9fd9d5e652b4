"""The store: a directory of Parquet files, queried by DuckDB. The directory is the interface.

    STORE/storscope-store.json                 schema version, when and by which version it was made
    STORE/capture=<id>/<table>.parquet         what one capture yielded; appears whole, by one rename
    STORE/capture=<id>/SHA256SUMS              what these files were when they were written
    STORE/.incoming-<random>/                  a capture being written; ignored by readers, removed when nobody holds it

A second process may read while one writes; two may import at once. DuckDB is the engine only, never the file.
"""

from storscope.store.capture import CaptureInfo, CaptureWriter
from storscope.store.directory import Store

__all__ = ["CaptureInfo", "CaptureWriter", "Store"]
