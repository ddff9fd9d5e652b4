"""Where the console script begins: so early that Ctrl-C ends it as it should, also while modules are being loaded.

So this one loads, before `main` can hear it, no more than the interpreter has loaded anyway. What comes before is the
interpreter's, which tells of Ctrl-C in its own way.
What nobody foresaw ends here, too, and never with the exit code of findings.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_FAILED = 2
_NO_TASKS = ("can't start new thread", "failed to spawn thread")
"""What Python and the core say of it."""


def main() -> None:
    """Runs the command line and exits with its code."""
    # Its threads gain nothing here, and where no more tasks may be started it ends the process as Ctrl-C would.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from storscope.cli.standard_streams import prepare

        prepare()
        from storscope.cli.main import main as run_and_exit

        run_and_exit()
    except SystemExit:
        raise
    except KeyboardInterrupt:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # see cli.main
        sys.exit(130)
    except BaseException as error:  # those of the core are no Exception
        _fail(error)


def _fail(error: BaseException) -> NoReturn:
    """Python's own exit code would be 1, which means findings."""
    if isinstance(error, MemoryError):
        said = "error: expected more memory than this process may have, found none left."
    elif any(words in str(error) for words in _NO_TASKS):
        said = (
            "error: expected more tasks than this user or unit may have, found none left.\n"
            "  Let it have more: ulimit -u, TasksMax of a unit, pids.max of a control group; or more memory: ulimit -v."
        )
    else:
        sys.excepthook(type(error), error, error.__traceback__)
        said = "error: this should not happen. Please report it, with the lines above."
    from contextlib import suppress

    with suppress(Exception):
        print(said, file=sys.stderr)
    sys.exit(_FAILED)
