"""The pictures of a clip for a page are those that the descriptor saw."""

import io

import numpy as np
from PIL import Image

from srlite.assessing.document import assessment_json
from srlite.assessing.strips import clip_strips
from srlite.training.run import Run


def test_pictures_stand_at_the_times_that_were_looked_at(data, trained, together):
    document = assessment_json(together[0][0])
    with clip_strips(Run(trained).settings()) as frames_of:
        strip = frames_of(document)
    assert [round(seconds, 3) for seconds, _ in strip] == document["clip"]["frames_s"]
    pictures = [np.asarray(Image.open(io.BytesIO(jpeg))) for _, jpeg in strip]
    assert all(p.shape[2] == 3 and p.shape[0] * p.shape[1] <= 160 * 120 for p in pictures)
    assert not np.array_equal(pictures[0], pictures[-1])  # the child moves
