"""Evidence that a command asks: a store, or files that are read for it alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storscope.cli.options import make_import_options, refuse_import_options, typed
from storscope.cli.progress import ReadingProgress
from storscope.cli.standard_streams import standard_input
from storscope.cli.store_for_reading import store_for_reading

if TYPE_CHECKING:
    from storscope.store import Store
    from storscope.workbench.brought import Reading
    from storscope.workbench.import_summary import ImportSummary


@contextmanager
def evidence_of(paths: Sequence[Path], store_path: Path | None, chosen: Mapping[str, Any]) -> Iterator[Store]:
    """The store that is meant, by `--store` or as the only path; or one of what the paths hold, gone afterwards.

    What could not be used of files is said on standard error. Raises UsageError for files and a store, InputError where
    nothing could be read.
    """
    from storscope.domain.errors import UsageError
    from storscope.store import Store
    from storscope.workbench.brought import store_of

    if paths and typed("store_path"):
        raise UsageError("files or --store", "both", hint="storscope import FILE... --store DIR puts them together.")
    is_store = len(paths) == 1 and Store.is_store(paths[0])
    if is_store or not paths:
        refuse_import_options("a store")
        yield store_for_reading(paths[0] if is_store else store_path)
        return
    with reading(chosen, verbose=False) as how, store_of(paths, how) as (store, _):
        yield store


@contextmanager
def reading(chosen: Mapping[str, Any], *, verbose: bool) -> Iterator[Reading]:
    """How the command's options say that evidence is read; what could not be used is said on standard error."""
    from storscope.cli.show_import import print_problems
    from storscope.workbench.brought import Reading

    def tell(summary: ImportSummary) -> None:
        progress.stop()
        print_problems(summary, verbose=verbose)

    with ReadingProgress() as progress:
        yield Reading(
            options=make_import_options(dict(chosen)),
            as_format=chosen["as_format"],
            standard_input=standard_input(),
            progress=progress,
            told=tell,
        )
