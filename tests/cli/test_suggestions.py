"""What is said of a command, a rule or a format that there is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.cli.main import run
from storscope.cli.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulat"], "Did you mean 'simulate'?"),
        (["FILE"], "Did you mean: storscope diagnose FILE"),
        (["fit", "FILE"], "Did you mean: storscope fit drive FILE"),
        (["fit", "array"], "No such command 'array'. There is: storscope fit drive"),
        (["store", "FILE"], "Did you mean: storscope store info --store FILE"),
        (["store", "quary"], "Did you mean 'query'?"),
        (["workload", "FILE"], "Did you mean: storscope workload show FILE"),
        (["workload", "oltp"], "Did you mean: storscope workload show oltp"),
        (["explain", "noisy"], "Did you mean 'noisy-neighbour'?"),
        (["explain", "noisy-neighbor"], "Did you mean 'noisy-neighbour'?"),
        (["formats", "fio"], "Did you mean 'fio_json', 'fio_text', 'fio_terse' or 'fio_log'?"),
        (["formats", "tape"], "Known are: "),
        (["explain", "tape"], "See: storscope rules."),
        (["simulate", "FILE", "oltp"], "Did you mean: --workload oltp"),
        (["simulate", "FILE", "--duration", "5", "min"], "Did you mean: --duration 5min\n"),
        (["simulate", "--duration=2.5", "h", "FILE"], "Did you mean: --duration 2.5h\n"),
        (["simulate", "--seed", "5", "s", "FILE"], "Did you mean: --workload FILE"),
        (["simulate", "FILE", "a=oltp", "b=backup"], "Did you mean: --workload a=oltp"),
        (["simulate", "FILE", "modes=randread", "depth=1,4"], "Did you mean: --sweep modes=randread depth=1,4\n"),
        (["simulate", "FILE", "vmfs1", "depth=4"], "Did you mean: --sweep vmfs1 depth=4\n"),
    ],
)
def test_what_was_probably_meant_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    file = tmp_path / "captured"
    file.touch()
    named = [str(file) if word == "FILE" else word for word in arguments]
    assert run(named) == 2
    assert words.replace("FILE", str(file)) in capsys.readouterr().err


def test_many_names_that_fit_are_no_help() -> None:
    assert did_you_mean("a", [f"a{number}" for number in range(9)]) == ""
    assert did_you_mean("", ["one"]) == ""
