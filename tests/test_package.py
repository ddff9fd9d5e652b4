"""What `import storscope` offers, before any of it is imported."""

from __future__ import annotations

import storscope


def test_everything_that_is_offered_is_there_and_is_listed() -> None:
    assert dir(storscope) == sorted(storscope.__all__)
    assert all(getattr(storscope, name) for name in storscope.__all__)
