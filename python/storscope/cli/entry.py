"""Where the console script begins: so early that Ctrl-C ends it as it should, also while modules are being loaded."""

import os
import signal
import sys

_STDERR = 2


def main() -> None:
    """Runs the command line and exits with its code."""
    try:
        _open_missing_stderr()
        from storscope.cli.main import main as run_and_exit
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # see cli.main
        sys.exit(130)
    run_and_exit()


def _open_missing_stderr() -> None:
    """Daemons start without (`2>&-`). A file that is opened later would take its number, and what is said go there."""
    if sys.stderr is None:
        null = os.open(os.devnull, os.O_WRONLY)
        if null != _STDERR:
            os.dup2(null, _STDERR)
            os.close(null)
        sys.stderr = open(_STDERR, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115  for good
