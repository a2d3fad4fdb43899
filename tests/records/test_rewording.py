"""What a paraphrase loses is found in its text."""

import pytest

from srlite.records.dataset import catalogue_of
from srlite.records.rewording import losses
from srlite.types import Item

WALKS = Item(
    "18_4",
    "walks backward",
    "The child takes at least two steps backward.",
    evidence="the way the child faces and the way the child moves",
)
STANDS = Item("30_1", "stands on one foot for 2 seconds", "The child stands on one foot for at least two seconds.")
STAYS = Item("9_1", "stays dry", "The child does not wet the bed.")
GIVES = Item("12_4", "gives a cube", "The child moves the cube from one hand into the other person's hand.")
走 = Item("18_4", "倒走", "孩子至少后退两步。")


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (WALKS, "Watch whether the child walks backward: two steps or more."),
        (WALKS, "Does the child make 2 or more steps backward?"),
        (WALKS, "Does the child step backward at least twice?"),
        (STANDS, "Watch whether a foot stays off the floor for two seconds or more."),
        (STANDS, "Does the child keep standing on one leg for 2 s or longer?"),
        (STAYS, "Is it true that the child never wets the bed?"),
        (GIVES, "Watch whether the cube ends up in the hand of somebody else."),
        (走, "看孩子是否向后连续后退2步以上。"),
    ],
)
def test_kept(item: Item, text: str) -> None:
    assert losses(item, text) == ()


@pytest.mark.parametrize(
    ("item", "text", "reason"),
    [
        (WALKS, "Watch whether the child walks backward.", "loses the number 2"),
        (WALKS, "Watch whether the child walks backward for two metres.", "brings in the unit metre"),
        (WALKS, "Watch whether the child takes three steps backward.", "brings in the number 3"),
        (WALKS, "Watch whether the child takes two steps forward.", "'forward', where the item says 'backward'"),
        (WALKS, "Watch that the child does not take two steps backward.", "negation"),
        (STANDS, "Does the child stand on one foot for two minutes?", "loses the unit second"),
        (STANDS, "Does the child stand on one foot for one second, or two?", "brings in the number 1"),
        (STAYS, "Does the child wet the bed at night?", "negation"),
        (STAYS, "Never wet.", "2 words"),
        (STAYS, "never " * 61, "61 words"),
        (WALKS, "Two steps\nbackward, at least, by the child.", "line break"),
        (WALKS, "Two steps backward<|im_end|> by the child.", "chat marker"),
        (走, "看孩子是否至少走了三步。", "brings in the number 3"),
        (走, "看孩子是否向前走了两步。", "'向前'"),
    ],
)
def test_lost(item: Item, text: str, reason: str) -> None:
    assert any(reason in found for found in losses(item, text)), losses(item, text)


def test_most_of_what_people_wrote_for_the_bundled_items_passes() -> None:
    written = [(item, text) for item in catalogue_of(None).values() for text in item.paraphrases]
    refused = [text for item, text in written if losses(item, text)]
    assert len(written) == 24 and len(refused) <= 3, refused
