"""Many clips at once: the order, the portions, and the same to the last bit as each clip alone."""

import pytest
from small_clinic import SMALL

import srlite
from srlite.assessing.job import Failed, assess_all
from srlite.errors import InputError
from srlite.types import Assessment, Samples

SECONDS = {"describe", "samples", "judge"}


def test_assess_describes_first_then_decides(data, trained):
    clip = sorted((data / "videos").glob("*_18_3_*"))[0]
    (found,) = srlite.assess([clip], "18_3", run=trained)
    assert found.description and found.decision in ("pass", "fail", "unable_to_assess", None)
    assert set(found.verdicts) == {"evidence", "met", "relevant", "well_formed", "abstains", "echo"}
    assert found.clip["frames_s"] == sorted(found.clip["frames_s"]) and len(found.clip["frames_s"]) == 8
    assert found.demonstration and any("demonstration" in w for w in found.warnings)
    assert found.age_months == 18 and found.child is None and found.samples is None
    (again,) = srlite.assess([clip], "18_3", run=trained)
    assert again.description == found.description and again.verdicts == found.verdicts


def test_a_bad_clip_does_not_stop_the_others(data, trained, broken):
    good = sorted((data / "videos").glob("*.mp4"))[0]
    bad, fine = srlite.assess([broken, good], "18_3", run=trained)
    assert isinstance(bad.error, InputError) and "broken.mp4" in str(bad.error)
    assert fine.description


def test_an_unknown_item_names_the_nearest(data, trained):
    with pytest.raises(InputError, match=r"mean .*\b18_4\b"):
        list(srlite.assess([data / "items.csv"], "18_44", run=trained))


def test_results_come_in_the_order_asked_portion_by_portion(asked, together):
    found, told = together
    assert [one.asked if isinstance(one, Failed) else one.clip["path"] for one in found] == [
        str(asked[0].clip),
        asked[1],
        str(asked[2].clip),
        str(asked[3].clip),
    ]
    assert [one.child for one in found if isinstance(one, Assessment)] == ["Anna", None, "Boris"]
    assert [one.age_months for one in found if isinstance(one, Assessment)] == [19, 18, 18]
    assert told == [
        *(("describe", 0, 4), ("describe", 1, 4), ("judge", 0, 4)),
        *(("describe", 2, 4), ("describe", 3, 4), ("judge", 2, 4)),
    ]


@pytest.mark.parametrize("number", [0, 2, 3])
def test_a_clip_alone_reads_the_same_to_the_last_bit(trained, asked, together, home, number):
    """With caches of its own, so that nothing is only remembered."""
    together = together[0][number]
    (alone,) = assess_all([asked[number]], run=trained)
    assert alone.description == together.description and alone.decision == together.decision
    assert dict(alone.verdicts) == dict(together.verdicts)
    assert alone.clip == together.clip and alone.warnings == together.warnings and alone.models == together.models
    assert alone.samples is None and set(alone.seconds) == SECONDS - {"samples"}


def test_seconds_are_told_for_each_clip(together):
    good = [one for one in together[0] if isinstance(one, Assessment)]
    assert all(set(one.seconds) == SECONDS and min(one.seconds.values()) > 0 for one in good)
    assert good[1].seconds["judge"] == good[2].seconds["judge"]  # of one turn


def test_samples_do_not_hang_on_company_or_memory(trained, asked, together, home, monkeypatch):
    """Fewer in a row where memory is short; the card's refusal is made up, everything else is real."""
    import torch

    from srlite.assessing import samples

    real, rows = samples.sample_groups, []

    def small_card(descriptor, asks, **how):
        rows.append(len(asks[0].seeds))
        if rows[-1] > 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return real(descriptor, asks, **how)

    monkeypatch.setattr(samples, "sample_groups", small_card)
    (alone,) = assess_all([asked[2]], run=trained, samples=3)
    assert rows == [3, 2, 1, 1, 1]
    assert alone.samples == together[0][2].samples and len(alone.samples.decisions) == 3


def test_samples_are_drawn_and_differ(data, trained, asked, home):
    from srlite.assessing.job import open_run
    from srlite.assessing.samples import drawn
    from srlite.describing import describe_prepared, prepare
    from srlite.descriptor.prompts import canonical_prompt
    from srlite.training.run import Run
    from srlite.types import Pair

    run = Run(trained)
    with open_run(run, run.catalogue()) as bench:
        item = bench.catalogue["18_4"]
        prepared = prepare(bench, str(asked[0].clip), canonical_prompt(item, 19.0))
        greedy = describe_prepared(bench, Pair(str(asked[0].clip), "18_4", None, age_months=19.0), prepared)
        eight, three = drawn(bench, greedy, prepared, 8), drawn(bench, greedy, prepared, 3)
    assert [d.description for d in eight[:3]] == [d.description for d in three]
    assert len({d.description for d in eight}) > 1
    assert all(1 <= d.tokens <= SMALL["sampling"]["max_new_tokens"] for d in eight)


def test_agreement_is_the_share_with_the_same_decision():
    samples = Samples(("pass", "fail", "pass", None))
    assert samples.agreeing("pass") == 0.5 and samples.agreeing("unable_to_assess") == 0
    assert samples.agreeing(None) is None


def test_the_judge_is_not_started_for_clips_that_cannot_be_read(trained, broken, home, monkeypatch):
    from srlite.judge.child import Child

    started = []
    monkeypatch.setattr(Child, "__init__", lambda self, *a: started.append(a))
    (found,) = srlite.assess([broken], "18_4", run=trained)
    assert isinstance(found, Failed) and not started
