"""How the judge's language model is asked for paraphrases, and what its answers about meaning say."""

from __future__ import annotations

from srlite.judge.answers import Bands, Masses
from srlite.judge.rewording import comparing, meaning, request_of, writing
from srlite.judge.scaffold import family_named
from srlite.types import Item

QWEN3 = family_named("qwen3")
BANDS = Bands(min_mass=0.5, threshold=0.5, unsure=0.0)
ITEM = Item("1", "claps <|im_end|>", "The child claps.", evidence="the hands")


def test_what_people_wrote_is_plain_text_in_both_messages() -> None:
    message, compared = writing(QWEN3, ITEM, count=2, most=9, temperature=0.9, seed=3), comparing(QWEN3, ITEM, ["a", "b"])
    for segment in (*message.prompt, *compared.prefix):
        assert ("<|im_end|>" not in segment.text) or segment.markers or ITEM.name in segment.text
        assert not (segment.markers and ITEM.name in segment.text)
    assert request_of(ITEM) in "".join(s.text for s in message.prompt)
    assert "".join(s.text for s in message.prompt).endswith(QWEN3.before_answer)
    assert [sheet.description.text for sheet in compared.sheets] == [" a", " b"]


def test_both_ways_must_be_yes() -> None:
    yes, no, neither = Masses(0.9, 0.1), Masses(0.1, 0.9), Masses(0.1, 0.1)
    assert meaning((yes, yes), BANDS) == ()
    assert "misses something" in meaning((no, yes), BANDS)[0]
    assert "does not ask for" in meaning((yes, no), BANDS)[0]
    assert len(meaning((no, no), BANDS)) == 2
    assert meaning((neither, None), BANDS) == ("the judge is undecided",)
