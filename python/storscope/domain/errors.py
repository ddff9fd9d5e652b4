"""The tree of errors, drawn once.

    StorscopeError                    what was expected, what was found, where, what to try
    ├── UsageError                    the call itself: a wrong option, a path that is not there
    ├── ConfigError                   a settings file: unknown key, value out of range
    ├── InputError                    the evidence
    │   ├── UnknownFormat             no importer recognises it
    │   ├── MalformedInput            recognised, then it broke off or contradicts its format
    │   └── UnsafeArchive             a bomb, a path that leaves the archive, an entry that is no file
    ├── StoreError                    the store
    │   ├── NotAStore                 the directory exists and is something else
    │   ├── NewerStore                written by a later storscope
    │   └── DamagedStore              a file is missing or unreadable
    ├── QueryError                    the user's SQL
    ├── TargetRefused                 a benchmark would destroy data, or cannot prove that it would not
    └── MissingTool                   a program this step needs is not installed

Each is reported once, by the command line, as its message, with exit code 2 and no traceback.
"""

from __future__ import annotations


class StorscopeError(Exception):
    """An error that a user can act on.

    `where` names the file and place, `expected` and `found` the disagreement, `hint` what to try next.
    """

    def __init__(self, expected: str, found: str = "", *, where: str = "", hint: str = "") -> None:
        self.expected = expected
        self.found = found
        self.where = where
        self.hint = hint
        super().__init__(self.message())

    def message(self) -> str:
        """The whole error in two to three lines, ready to print."""
        head = f"{self.where}: " if self.where else ""
        body = f"expected {self.expected}, found {self.found}" if self.found else self.expected
        return f"{head}{body}." + (f"\n  {self.hint}" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        """Copies, also those that a pool of processes sends, are of the same parts.

        An exception's own way calls its class with the message, which would be taken for what was expected.
        """
        return _of_parts, (type(self), self.__dict__.copy())


def _of_parts(kind: type[StorscopeError], parts: dict[str, object]) -> StorscopeError:
    error = kind.__new__(kind)
    error.__dict__.update(parts)
    error.args = (error.message(),)
    return error


class UsageError(StorscopeError):
    """The call itself is wrong."""


class ConfigError(StorscopeError):
    """A settings file is wrong."""


class InputError(StorscopeError):
    """Evidence that cannot be read."""


class UnknownFormat(InputError):
    """No importer recognises the content."""


class MalformedInput(InputError):
    """The format was recognised and then contradicted."""


class UnsafeArchive(InputError):
    """An archive that would fill the disk or write outside its folder."""


class StoreError(StorscopeError):
    """The store cannot be used."""


class NotAStore(StoreError):
    """A directory that is something else."""


class NewerStore(StoreError):
    """A store written by a later version."""


class DamagedStore(StoreError):
    """A store with a missing or unreadable file."""


class QueryError(StorscopeError):
    """The user's SQL was refused by the query engine."""


class TargetRefused(StorscopeError):
    """A benchmark would write to something in use, of unknown content, or not what was named."""


class MissingTool(StorscopeError):
    """A program this step needs is not installed."""
