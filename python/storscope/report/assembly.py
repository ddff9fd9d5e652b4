"""The parts that every page has: styles and scripts in one piece, the policy that names them, and writing the file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from storscope.domain.units import format_count
from storscope.report.wording import harmless, kind_word, tight, unbroken
from storscope.store.whole_file import whole_file


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
    found.filters["tight"] = tight
    found.filters["unbroken"] = unbroken
    found.globals["kind_word"] = kind_word
    return found


def write_page(path: Path, page: str) -> None:
    """Writes a page: whole, or not at all. Raises UsageError when it cannot be written there."""
    with whole_file(path, "Name another file with --report FILE.") as file:
        file.write(page.encode("utf-8", "replace"))
