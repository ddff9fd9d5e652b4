"""From what a user names to files that can be read: folders, archives, compressed files, standard input.

Archives are recognised by their first bytes. Members are written one at a time to a temporary directory, read there
and removed, so that disk use stays at one member. Limits keep a hostile archive harmless: how far content may grow
(`MAX_RATIO` once `FREE_BYTES` are exceeded), how many members, how deep archives may nest; the first two also of all
that the archives within one file hold, as each level could multiply them. Links, devices and member
names that leave the archive are never followed: a member's name is only shown.

What cannot be read is told as such, and what comes after it is read all the same.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import zstandard

from storscope.domain.errors import MalformedInput, UnsafeArchive, UsageError
from storscope.sources.evidence import Evidence, shown_name
from storscope.sources.foreign import office_document

FREE_BYTES = 256 * 1024**2
"""A member may grow to this size whatever its ratio."""
MAX_RATIO = 250
"""Beyond FREE_BYTES: bytes out per byte packed. Counter text compresses 5 to 60 times; deflate can reach 1,032."""
MAX_MEMBERS = 100_000
MAX_DEPTH = 4
_CHUNK_BYTES = 1024**2
_MAGIC_BYTES = 264
_ENCRYPTED = 1
"""Bit 0 of a zip member's general purpose flag (APPNOTE.TXT 6.3.10, 4.4.4)."""
_STORE_MARKER = "storscope-store.json"
STANDARD_INPUT = "standard input"


@dataclass(frozen=True)
class Unreadable:
    """Something that was found and cannot be read, with the reason."""

    name: str
    reason: str
    is_broken: bool = False
    """Whether it may hold evidence that is lost now: a cut archive, a file that others may not read."""


@dataclass
class _Within:
    """What archives within one file have held so far."""

    name: str
    packed_bytes: int
    members: int = 0
    written_bytes: int = 0

    def count_member(self) -> None:
        """Raises UnsafeArchive for one too many."""
        self.members += 1
        _check_members(self.members, self.name)

    def count_bytes(self, count: int) -> None:
        """Raises UnsafeArchive where each of `MAX_DEPTH` levels has had as much as a single one may have."""
        self.written_bytes += count
        limit = MAX_DEPTH * max(FREE_BYTES, MAX_RATIO * self.packed_bytes)
        if self.written_bytes > limit:
            raise _bomb(self.name, self.packed_bytes, limit)


Found = Evidence | Unreadable
Progress = Callable[[str, int, int], None]
"""Receives (name, bytes done, bytes in all)."""


@contextmanager
def spooled(stream: BinaryIO | None) -> Iterator[Path | None]:
    """Standard input as a temporary file, so that it can be read more than once."""
    if stream is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="storscope-") as directory:
        path = Path(directory) / "stdin"
        with path.open("wb") as out:
            shutil.copyfileobj(stream, out, _CHUNK_BYTES)
        yield path


def expand(paths: list[Path], standard_input: Path | None = None, progress: Progress | None = None) -> Iterator[Found]:
    """Every readable file under `paths`, in a stable order. `-` is standard input, which `spooled` made a file.

    An Evidence must be used before the next one is taken: members of archives live only until then.
    Raises UsageError for a path that does not exist.
    """
    for path in paths:
        if str(path) == "-":
            if standard_input is None:
                raise UsageError("data on standard input", "none")
            yield from _from_file(standard_input, STANDARD_INPUT, progress)
        elif not path.exists():
            raise UsageError("a file or folder", "nothing of that name", where=str(path))
        elif path.is_dir():
            yield from _from_folder(path, progress)
        else:
            yield from _from_file(path, str(path), progress)


def _from_folder(folder: Path, progress: Progress | None) -> Iterator[Found]:
    try:
        is_store, paths = (folder / _STORE_MARKER).exists(), sorted(folder.iterdir())
    except OSError as error:
        yield Unreadable(shown_name(str(folder)), f"cannot be read: {error.strerror}", is_broken=True)
        return
    if is_store:
        yield Unreadable(shown_name(str(folder)), "is a storscope store, no evidence (use --store to query it)")
        return
    for path in paths:
        if path.name.startswith("."):
            continue
        if path.is_symlink() and not path.is_file():
            target = "a folder: name it to have it read" if path.is_dir() else "what is not there, or no file"
            yield Unreadable(shown_name(str(path)), f"is a link to {target}")
        elif path.is_dir():
            yield from _from_folder(path, progress)
        else:
            yield from _from_file(path, str(path), progress)


def _from_file(
    path: Path, name: str, progress: Progress | None, depth: int = 0, within: _Within | None = None
) -> Iterator[Found]:
    """A file on its own. Raises UnsafeArchive for one inside an archive (`depth`), which is not read on then."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            yield Unreadable(shown_name(name), "is no regular file")
            return
        with path.open("rb") as file:
            start = file.read(_MAGIC_BYTES)
    except OSError as error:
        yield Unreadable(shown_name(name), f"cannot be read: {error.strerror}", is_broken=True)
        return
    if not start:
        yield Unreadable(shown_name(name), "is empty")
        return
    opener = _opener(start)
    if opener is None:
        size = path.stat().st_size
        yield Evidence(path, name, progress=(lambda done: progress(name, done, size)) if progress else None)
        return
    try:
        if depth >= MAX_DEPTH:
            raise UnsafeArchive(f"archives nested at most {MAX_DEPTH} deep", "more", where=shown_name(name))
        within = within or _Within(name, path.stat().st_size)
        yield from _until_broken(opener(path, name, progress, depth, within), name)
    except UnsafeArchive as error:
        if depth > 0:
            raise
        yield Unreadable(error.where, error.message(), is_broken=True)


def _until_broken(found: Iterator[Found], name: str) -> Iterator[Found]:
    """What is found before the archive, or the member, turns out to be cut, encrypted or damaged; then that."""
    try:
        yield from found
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        broken = MalformedInput(
            "a complete archive", str(error) or type(error).__name__, where=shown_name(name),
            hint="The file is cut, encrypted or damaged; unpack it yourself and import the folder.",
        )  # fmt: skip
        yield Unreadable(broken.where, broken.message(), is_broken=True)


_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError,
    NotImplementedError, RuntimeError, OSError,
)  # fmt: skip
"""What the libraries raise; an OSError with a number is the system's own, such as a full disk."""


_Opener = Callable[[Path, str, "Progress | None", int, _Within], Iterator[Found]]


def _opener(start: bytes) -> _Opener | None:
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _from_zip
    if start[257:262] == b"ustar":
        return _from_tar
    for magic, opener in _COMPRESSIONS:
        if start.startswith(magic):
            return _from_compressed(opener)
    return None


_COMPRESSIONS: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"\x28\xb5\x2f\xfd", lambda file: zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)


def _from_compressed(opener: Callable[[BinaryIO], Any]) -> _Opener:
    def read(path: Path, name: str, progress: Progress | None, depth: int, within: _Within) -> Iterator[Found]:
        size = path.stat().st_size
        with path.open("rb") as file, opener(file) as stream, _member(stream, name, size, within) as member:
            yield from _from_file(member, name, progress, depth + 1, within)

    return read


def _from_zip(path: Path, name: str, progress: Progress | None, depth: int, within: _Within) -> Iterator[Found]:
    with zipfile.ZipFile(path) as archive:
        if document := office_document(archive.namelist()):
            yield Unreadable(shown_name(name), document)
            return
        entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
        _check_members(len(entries), name)
        for entry in sorted(entries, key=lambda entry: entry.filename):
            member = f"{name}: {entry.filename}"
            yield from _until_broken(_from_zip_member(archive, entry, member, progress, depth, within), member)


def _from_zip_member(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, progress: Progress | None, depth: int, within: _Within
) -> Iterator[Found]:
    if stat.S_ISLNK(entry.external_attr >> 16):
        yield Unreadable(shown_name(name), "is a link inside an archive")
        return
    if entry.flag_bits & _ENCRYPTED:
        locked = MalformedInput(
            "a member that is not encrypted", "one that needs a password", where=shown_name(name),
            hint="Unpack it with the password and import the folder.",
        )  # fmt: skip
        yield Unreadable(locked.where, locked.message(), is_broken=True)
        return
    with archive.open(entry) as stream, _member(stream, name, max(entry.compress_size, 1), within) as member:
        yield from _from_file(member, name, progress, depth + 1, within)


def _from_tar(path: Path, name: str, progress: Progress | None, depth: int, within: _Within) -> Iterator[Found]:
    with tarfile.open(path) as archive:
        for number, entry in enumerate(archive):
            _check_members(number, name)
            if entry.isdir() or _is_hidden(entry.name):
                continue
            stream = archive.extractfile(entry) if entry.isreg() else None
            if stream is None:
                yield Unreadable(shown_name(f"{name}: {entry.name}"), "is no regular file inside an archive")
                continue
            with stream, _member(stream, f"{name}: {entry.name}", max(entry.size, 1), within) as member:
                yield from _from_file(member, f"{name}: {entry.name}", progress, depth + 1, within)
        if not _is_whole(path, archive.offset):
            raise tarfile.ReadError("a member's header that is cut or damaged")


def _is_whole(path: Path, offset: int) -> bool:
    """Whether a tar ends where reading ended: tarfile takes a header that it cannot read for the end."""
    with path.open("rb") as file:
        file.seek(offset)
        header = file.read(tarfile.BLOCKSIZE)
    return not header.strip(b"\0") and len(header) in {0, tarfile.BLOCKSIZE}


@contextmanager
def _member(stream: IO[bytes], name: str, packed_bytes: int, within: _Within) -> Iterator[Path]:
    """The content of `stream` as a temporary file; stops at what no honest archive contains."""
    limit = max(FREE_BYTES, MAX_RATIO * packed_bytes)
    within.count_member()
    with tempfile.TemporaryDirectory(prefix="storscope-") as directory:
        path = Path(directory) / "member"
        written = 0
        with path.open("wb", buffering=io.DEFAULT_BUFFER_SIZE) as out:
            while chunk := stream.read(_CHUNK_BYTES):
                written += len(chunk)
                if written > limit or written > shutil.disk_usage(directory).free:
                    raise _bomb(name, packed_bytes, limit)
                within.count_bytes(len(chunk))
                out.write(chunk)
        yield path


def _bomb(name: str, packed_bytes: int, limit: int) -> UnsafeArchive:
    return UnsafeArchive(
        f"at most {limit:,} bytes out of {packed_bytes:,} packed bytes (and less than the free disk space)",
        "more",
        where=shown_name(name),
        hint="If this is a real capture, unpack it yourself and import the file.",
    )


def _check_members(count: int, name: str) -> None:
    if count > MAX_MEMBERS:
        raise UnsafeArchive(f"at most {MAX_MEMBERS:,} members", "more", where=shown_name(name))


def _is_hidden(name: str) -> bool:
    parts = [part for part in name.split("/") if part not in {".", ".."}]
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)
