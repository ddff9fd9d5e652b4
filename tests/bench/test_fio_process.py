"""A fio that does not behave, played by a shell."""

from __future__ import annotations

import pytest

from storscope.bench import fio_process
from storscope.bench.fio_process import FioProcess


def test_a_fio_that_closes_its_output_and_stays_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fio_process, "_LAST_WORDS_S", 0.2)
    script = "exec 3<&-; echo '{'; echo '\"jobs\": []'; echo '}'; exec sleep 600 >/dev/null 2>&1"
    with FioProcess(["sh", "-c", script], "", ()) as fio:
        assert list(fio.documents(lambda: False, 600.0)) == [{"jobs": []}]
        assert fio.wait() < 0
        assert fio.was_killed
