"""What was probably meant by a name that there is not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from storscope.cli.options import DurationType

_MOST = 4


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """'Did you mean 'fio_json' or 'fio_text'?', of names that hold the word or are spelt like it; '' without one."""
    names = list(known)
    found = [name for name in names if word and word.lower() in name.lower()] or difflib.get_close_matches(
        word, names, 1
    )
    if not found or len(found) > _MOST:
        return ""
    *others, last = map(repr, found)
    return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"


def _exists(word: str) -> bool:
    return Path(word).exists()


class Verbs(click.Group):
    """A group that says of an unknown command what was probably meant.

    `usual` is the command for what stands in a command's place although it is an argument; `is_argument` knows those.
    """

    def __init__(
        self, *args: Any, usual: str = "", is_argument: Callable[[str], bool] = _exists, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._usual, self._is_argument = usual, is_argument

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with what was meant where there is no such command."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"No such command '{args[0]}'. {self._meant(ctx, args[0], known)}".rstrip())
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, word: str, known: list[str]) -> str:
        if self._usual and self._is_argument(word):
            return f"Did you mean: {ctx.command_path} {self._usual} {word}"
        only = f"There is: {ctx.command_path} {known[0]}" if len(known) == 1 else ""
        return did_you_mean(word, known) or only


class NamedOption(click.Command):
    """A command that says which option a further argument was probably meant for.

    `many` are the parameters that take such arguments, as (the argument, the flag that it needs).
    """

    def __init__(self, *args: Any, further: str, many: tuple[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._further, self._many = further, many

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; arguments that are too many are refused with the option for them."""
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
            self._refuse_many(ctx)
            return rest
        except click.UsageError as error:
            found = re.search(r"unexpected extra arguments? \((.+)\)", error.message)
            if found is None:
                raise
            words = found[1].split()
            meant = self._with_split_duration(ctx, given) or self._with_flag(ctx, words)
            meant = meant or f"{self._further} {words[0]}"
            raise click.UsageError(f"{error.message}. Did you mean: {meant}", ctx) from None

    def _with_flag(self, ctx: click.Context, words: Sequence[str]) -> str | None:
        """'--sweep modes=randread' where axes are among the many arguments; None where none are."""
        from storscope.bench.sweep import is_axis

        if self._many is None or not any(is_axis(word) for word in words):
            return None
        flag = next(one.opts[0] for one in self.get_params(ctx) if one.name == self._many[1])
        return f"{flag} {' '.join(words)}"

    def _refuse_many(self, ctx: click.Context) -> None:
        """In click's words, where the flag is missing."""
        words = ctx.params.get(self._many[0]) if self._many is not None else None
        if words and self._many is not None and not ctx.params[self._many[1]]:
            ctx.fail(f"Got unexpected extra argument{'' if len(words) == 1 else 's'} ({' '.join(words)})")

    def _with_split_duration(self, ctx: click.Context, args: list[str]) -> str | None:
        """'--duration 5min' where the unit stands apart, as an argument of its own; None where none does."""
        options = "|".join(
            opt for one in self.get_params(ctx) if isinstance(one.type, DurationType) for opt in one.opts
        )
        units = "|".join(DurationType.units)
        found = re.search(rf"(?:^| )({options})[ =]([\d.]+) ({units})(?: |$)", " ".join(args))
        return None if found is None or not options else f"{found[1]} {found[2]}{found[3]}"
