"""Results as programs keep them: in sets and mappings, looked for in lists, copied, sent to another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import storscope
from tests.sim.designs import SMALL


def _simulated(seed: int = 1) -> storscope.Simulated:
    return storscope.simulate_each([SMALL], "oltp", duration="2s", seed=seed, started_ns=1_700_000_000_000_000_000)[0]


MADE: dict[str, Callable[[], Any]] = {
    "simulated": _simulated,
    "point": lambda: storscope.simulate_sweep(SMALL, "modes=randread depth=1", duration="1s")[0],
    "compared": lambda: storscope.compare(_simulated(), _simulated(2)),
    "pair": lambda: storscope.compare(_simulated(), _simulated(2)).pairs[0],
    "diagnosed": lambda: storscope.diagnose(_simulated()),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_result_equals_itself_alone_and_can_be_in_a_set(make: Callable[[], Any]) -> None:
    one, other = make(), make()
    assert one != other
    assert [other, one].index(one) == 1
    assert len({one, other, one}) == 2
    assert one != copy.deepcopy(one)
    assert repr(pickle.loads(pickle.dumps(one))) == repr(one)


def test_a_finding_equals_one_of_the_same_content_so_that_what_is_new_can_be_told() -> None:
    before, after = (storscope.diagnose(_simulated()).findings for _ in range(2))
    assert before
    assert set(before) - set(after) == set()
    assert set(pickle.loads(pickle.dumps(before))) == set(after)


def test_a_design_is_a_key_also_when_it_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    first, again = storscope.load_design(path), storscope.load_design(path)
    assert {first: "results"}[again] == "results"
    assert storscope.load_design(SMALL) not in {first}
