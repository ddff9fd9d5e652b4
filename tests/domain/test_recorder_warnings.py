"""Doubts about the evidence: the same one is kept once, however many there are."""

from __future__ import annotations

from storscope.domain.recorder import Recorder
from tests.growth import TIMES_LONGER, growth


def _warned(sentences: str) -> list[str]:
    recorder = Recorder(lambda _name, _batch: None)
    for sentence in sentences.split("\n"):
        recorder.warn(sentence)
    return recorder.notes.warnings


def test_the_same_sentence_is_kept_once_and_others_in_their_order() -> None:
    assert _warned("b\na\nb\nc\na") == ["b", "a", "c"]


def test_so_many_sentences_take_so_much_longer() -> None:
    """20,000 jobs of a fio result that did nothing took 5 s to be doubted, 200,000 eight minutes."""

    def sentences(count: int) -> str:
        return "\n".join(f"Job {number} did nothing." for number in range(count))

    assert growth(_warned, sentences, 16_000) < 3 * TIMES_LONGER
