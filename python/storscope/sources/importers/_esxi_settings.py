"""Settings of the host: esxcli system settings advanced list, esxcfg-advcfg -g, system module parameters list."""

from __future__ import annotations

import re
from typing import Final

from storscope.sources.importers._esxi_book import Book
from storscope.sources.importers._esxi_text import Record, integer

_ADVCFG = re.compile(r"Value of (?P<name>\S+) is (?P<value>.*)")
_MODULE_PARAMETER = re.compile(r"(?P<name>iscsivmk_\w+)\s+(?:u?int|bool|string)(?:\s+(?P<value>\d+))?(?:\s.*)?")

_LRO: Final = "TcpipDefLROEnabled"
_MAX_IO: Final = "DiskMaxIOSize"


def advanced_setting(record: Record, book: Book) -> bool:
    """A record of `esxcli system settings advanced list`; one of its two values is empty."""
    path = record.take("Path")
    if path is None:
        return False
    _setting(book, path, record.take("Int Value") if record.take("Type") == "integer" else record.take("String Value"))
    return True


def advcfg_line(line: str, book: Book) -> bool:
    """The output of `esxcfg-advcfg -g /Net/TcpipDefLROEnabled`."""
    match = _ADVCFG.fullmatch(line)
    if match is None:
        return False
    _setting(book, match["name"], match["value"].strip())
    return True


def _setting(book: Book, path: str, value: str | None) -> None:
    name = path.rpartition("/")[2]
    number = integer(value)
    if name == _LRO and number is not None:
        book.fact(book.host, "lro_enabled", number != 0)
    elif name == _MAX_IO:
        book.fact(book.host, "disk_max_io_size_kib", number, "KiB")
    else:
        book.fact(book.host, name, number if number is not None else value)


def module_parameter(line: str, book: Book) -> bool:
    """A row of `esxcli system module parameters list -m iscsi_vmk`; most have no value set."""
    match = _MODULE_PARAMETER.fullmatch(line)
    if match is None:
        return False
    name = "software_iscsi_queue_depth" if match["name"] == "iscsivmk_LunQDepth" else match["name"]
    book.fact(book.host, name, integer(match["value"]))
    return True
