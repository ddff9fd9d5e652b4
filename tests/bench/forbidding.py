"""Runs a command where the kernel refuses some system calls, as the filter of a container does (seccomp(2))."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER = 425, 426, 427
"""Of every architecture (asm-generic/unistd.h)."""

# <linux/filter.h>, <linux/seccomp.h>, <linux/prctl.h>
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_INSTRUCTION = struct.Struct("=HBBI")


def forbid(*calls: int) -> None:
    """From now on this process and its children get EPERM from the system calls with these numbers."""
    load = _INSTRUCTION.pack(_LOAD_WORD, 0, 0, 0)
    refuse = [_INSTRUCTION.pack(_JUMP_IF_EQUAL, 0, 1, call) + _refusal() for call in calls]
    instructions = load + b"".join(refuse) + _INSTRUCTION.pack(_RETURN, 0, 0, _ALLOW)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("@HP", len(instructions) // _INSTRUCTION.size, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _refusal() -> bytes:
    return _INSTRUCTION.pack(_RETURN, 0, 0, _ERRNO | errno.EPERM)


if __name__ == "__main__":
    forbid(*map(int, sys.argv[1].split(",")))
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
