"""The parts that every page has: styles and scripts in one piece, the policy that names them, and writing the file."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import tempfile
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from storscope.domain.units import format_count
from storscope.report.wording import harmless, kind_word


class Charts:
    """The charts of a page in the order in which the template lays them out."""

    def __init__(self) -> None:
        self.charts: list[object] = []

    def add(self, chart: object) -> int:
        """Takes a chart into the data island; returns its number, which its element carries."""
        self.charts.append(chart)
        return len(self.charts) - 1


def content_security_policy(styles: tuple[str, ...], scripts: tuple[str, ...]) -> str:
    """Nothing from anywhere, but the two blocks of the page itself, named by their hashes."""
    return (
        f"default-src 'none'; script-src '{_hash(joined(scripts))}'; style-src '{_hash(joined(styles))}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _static() -> Traversable:
    return files("storscope.report").joinpath("static")


@cache
def joined(names: tuple[str, ...]) -> str:
    """Files of the folder `static` as one text."""
    return "\n".join(_static().joinpath(name).read_text("utf-8") for name in names)


@cache
def favicon() -> str:
    """The icon as a URL of its own data."""
    return "data:image/svg+xml;base64," + base64.b64encode(_static().joinpath("icon.svg").read_bytes()).decode()


@cache
def environment() -> Environment:
    """The templates; what they are given is escaped."""
    found = Environment(
        loader=PackageLoader("storscope.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, finalize=harmless,
    )  # fmt: skip
    found.filters["count"] = format_count
    found.globals["kind_word"] = kind_word
    return found


def write_whole(path: Path, content: bytes) -> None:
    """Writes beside the target and renames: a reader never sees half a report."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _as_new_file(Path(name))
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _as_new_file(path: Path) -> None:
    """The permissions a plain open() would have given; mkstemp gives none to others."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
