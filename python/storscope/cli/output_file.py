"""Files that a command writes: -o FILE, --output FILE, --report FILE, and --replace, which gives up what is there.

Every option of that kind has this type, so that all of them follow one rule (`store/whole_file.py`), and what would be
lost is told before the work begins.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import click

_REPLACES: Final = "storscope.replaces"
_STDOUT: Final = 1


class OutputFile(click.Path):
    """A file to be written: its folder is there, and in its place is none that would be lost."""

    def __init__(self, *, is_page: bool = False) -> None:
        """Whether it is a page, which may replace an earlier one."""
        super().__init__(path_type=Path, dir_okay=False)
        self._is_page = is_page

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """As click's; raises UsageError for a place that `check_place` refuses, and for what is no name of a file."""
        from storscope.domain.errors import UsageError
        from storscope.store.whole_file import check_place

        if os.fsdecode(value) in {"", "-"}:
            otherwise = "" if self._is_page else " Without the option it goes to standard output."
            raise UsageError("a file", repr(value), where=param.opts[-1] if param else "",
                             hint=f"A file of the name '-' is ./-.{otherwise}" if value else "")  # fmt: skip
        path = super().convert(value, param, ctx)
        if ctx is not None and not ctx.resilient_parsing:
            check_place(Path(os.fsdecode(path)), is_page=self._is_page, replaces=replaces(ctx))
        return path


def replaces(ctx: click.Context | None = None) -> bool:
    """Whether --replace was given to the command that runs."""
    return bool((ctx or click.get_current_context()).meta.get(_REPLACES))


def refuse_targets(report: Path | None, targets: Sequence[str]) -> None:
    """Raises UsageError if the report, or what is printed, would go to what is measured; --replace is not for that."""
    from storscope.domain.errors import UsageError

    for target in targets:
        if report is not None and _leads_to(report, Path(target)):
            raise UsageError("a report beside the target", f"--report {report}, which is it", where=target,
                             hint="Name another file.")  # fmt: skip
        with contextlib.suppress(OSError, ValueError):
            if os.path.samestat(os.fstat(_STDOUT), Path(target).stat()):
                raise UsageError("a standard output beside the target", "one that is written to it", where=target,
                                 hint="Send it to another file.")  # fmt: skip


def _leads_to(output: Path, target: Path) -> bool:
    """Also by another name of the same file; what does not exist yet has its path alone."""
    try:
        return output.samefile(target)
    except (OSError, ValueError):
        return os.path.realpath(output) == os.path.realpath(target)  # of links in a circle, too


def replace_option(words: str, *, of: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--replace, in the words of a command. It is read before the files; no function gets it as an argument.

    `of` is the option without which nothing is written that could replace anything, so that --replace is refused.
    """

    def keep(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[_REPLACES] = value

    option = click.option("--replace", is_flag=True, is_eager=True, expose_value=False, callback=keep, help=words)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*arguments: Any, **chosen: Any) -> Any:
            if of and replaces() and chosen[of] is None:
                _refuse_alone(of)
            return function(*arguments, **chosen)

        return option(checked)

    return decorate


def _refuse_alone(option: str) -> NoReturn:
    from storscope.domain.errors import UsageError

    raise UsageError(f"--{option} with --replace", "--replace alone", hint=f"It is for the file of --{option}.")
