"""Where the console script begins: so early that Ctrl-C ends it as it should, also while modules are being loaded."""

import signal
import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    try:
        from storscope.cli.main import main as run_and_exit
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # see cli.main
        sys.exit(130)
    run_and_exit()
