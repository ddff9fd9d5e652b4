"""Evidence: one file to be read, whatever its encoding, with the limits that keep hostile input harmless.

Text is UTF-8 or UTF-16 (PowerShell redirections), with or without a byte-order mark, or, where a line is not valid
UTF-8, Windows-1252. UTF-16 without a mark is told by the zero in every second byte, which Latin characters have. Lines
end with newlines, with or without carriage returns, or with carriage returns alone. A NUL byte in anything else means a
binary file, which no text importer is asked about.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from storscope.domain.errors import MalformedInput

HEAD_BYTES = 256 * 1024
"""How much of a file recognition may look at."""
MAX_LINE_BYTES = 16 * 1024**2
"""A longer line is no log and no table that a text importer reads; wide CSV goes through the core."""
MAX_TEXT_BYTES = 2 * 1024**3

_CHUNK_BYTES = 1024**2
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UTF_16: Final = (("utf-16-le", 1), ("utf-16-be", 0))
"""Encoding -> where in two bytes the higher one stands."""
_MARKLESS_BYTES: Final = 4096
_LATIN_SHARE: Final = 0.5
"""Least share of characters that are Latin, as figures and units are, in a text in UTF-16 without a mark."""
_NO_TEXT: Final = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


def shown_name(name: str) -> str:
    """A file's name as text that can be stored and printed: bytes that are no UTF-8 are taken as Windows-1252."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode("cp1252", "replace")
    return name


@dataclass(frozen=True)
class Head:
    """The beginning of a file, for recognition. Names are shown to a person, never trusted."""

    name: str
    raw: bytes
    encoding: str

    @cached_property
    def is_binary(self) -> bool:
        """A NUL byte in what is not UTF-16."""
        return self.encoding == "utf-8" and b"\0" in self.raw

    @cached_property
    def ends_lines_with_returns(self) -> bool:
        """No newline, but carriage returns: what a Mac or a clipboard made of the lines."""
        return "\n" not in self._decoded and "\r" in self._decoded.rstrip("\r")

    @cached_property
    def text(self) -> str:
        """The decoded head; broken characters at the cut are replaced, carriage returns alone are newlines."""
        return self._decoded.replace("\r", "\n") if self.ends_lines_with_returns else self._decoded

    @cached_property
    def _decoded(self) -> str:
        return self.raw.decode(self.encoding, "replace").removeprefix("\ufeff")

    @cached_property
    def lines(self) -> list[str]:
        """The complete lines of the head, without line ends."""
        lines = self.text.splitlines()
        return lines[:-1] if len(self.raw) >= HEAD_BYTES and len(lines) > 1 else lines


def _encoding_of(raw: bytes) -> str:
    """The encoding of a text by its first bytes; UTF-8 for whatever is not UTF-16."""
    marked = next((encoding for bom, encoding in _BOMS if raw.startswith(bom)), None)
    return marked or next((encoding for encoding, high in _UTF_16 if _is_utf_16(raw[:_MARKLESS_BYTES], high)), "utf-8")


def _is_utf_16(raw: bytes, high: int) -> bool:
    """Whether most characters are Latin, with a higher byte of zero there, and none of these is a control character."""
    latin = bytes(low for upper, low in zip(raw[high::2], raw[1 - high :: 2], strict=False) if not upper)
    return len(latin) > 1 and len(latin) >= _LATIN_SHARE * (len(raw) // 2) and _NO_TEXT.search(latin) is None


class Evidence:
    """One file on disk with the name a person knows it by (for a member of an archive 'dump.zip: esxtop.csv')."""

    def __init__(self, path: Path, name: str | None = None, *, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.name = shown_name(name or str(path))
        self.size_bytes = path.stat().st_size
        self.lines_not_utf8 = 0
        self._progress = progress

    @cached_property
    def head(self) -> Head:
        """The first HEAD_BYTES of the file."""
        with self.path.open("rb") as file:
            raw = file.read(HEAD_BYTES)
        return Head(self.name, raw, _encoding_of(raw))

    def report_progress(self, bytes_done: int) -> None:
        """Tells the progress bar how far the reading is."""
        if self._progress:
            self._progress(bytes_done)

    def lines(self) -> Iterator[str]:
        """Every line without its end, decoded. Raises MalformedInput for a line over MAX_LINE_BYTES."""
        if self.head.encoding != "utf-8":
            yield from self._transcoded_lines()
            return
        if self.head.ends_lines_with_returns:
            yield from self._lines_by_returns()
            return
        done = 0
        with self.path.open("rb") as file:
            number = 0
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    raise self._line_too_long(number)
                done += len(raw)
                if number % 4096 == 0:
                    self.report_progress(done)
                if number == 1:
                    raw = raw.removeprefix(codecs.BOM_UTF8)
                yield self._decode(raw.rstrip(b"\r\n"))
        self.report_progress(done)

    def text(self) -> str:
        """The whole file as one string, for formats that are one value (JSON). At most MAX_TEXT_BYTES."""
        if self.size_bytes > MAX_TEXT_BYTES:
            raise MalformedInput(
                f"at most {MAX_TEXT_BYTES:,} bytes of this format", f"{self.size_bytes:,}", where=self.name,
                hint="Split the file, for instance by day.",
            )  # fmt: skip
        raw = self.path.read_bytes()
        self.report_progress(len(raw))
        if self.head.encoding != "utf-8":
            return raw.decode(self.head.encoding, "replace").removeprefix("\ufeff")
        return self._decode(raw.removeprefix(codecs.BOM_UTF8))

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.lines_not_utf8 += 1
            return raw.decode("cp1252", "replace")

    def _lines_by_returns(self) -> Iterator[str]:
        rest = b""
        number = 0
        with self.path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                *whole, rest = (rest + chunk).split(b"\r")
                for raw in whole:
                    number += 1
                    yield self._decode(raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw)
                if len(rest) > MAX_LINE_BYTES:
                    raise self._line_too_long(number + 1)
                self.report_progress(file.tell())
        if rest:
            yield self._decode(rest)

    def _transcoded_lines(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder(self.head.encoding)("replace")
        end = "\r" if self.head.ends_lines_with_returns else "\n"
        rest = ""
        number = 0
        with self.path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                *whole, rest = (rest + decoder.decode(chunk)).split(end)
                for line in whole:
                    number += 1
                    yield line.rstrip("\r").removeprefix("\ufeff")
                if len(rest) > MAX_LINE_BYTES:
                    raise self._line_too_long(number + 1)
                self.report_progress(file.tell())
        if rest:
            yield rest.rstrip("\r").removeprefix("\ufeff")

    def _line_too_long(self, number: int) -> MalformedInput:
        return MalformedInput(
            f"lines of at most {MAX_LINE_BYTES // 1024**2} MiB",
            f"line {number} is longer",
            where=self.name,
            hint="This is probably not a text capture, or its line ends were lost when it was copied.",
        )
