"""Does it look at the video? Counting on hand-made answers, collecting on the bundled models."""

from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pytest
from scipy.stats import binomtest

from srlite.console import Screen
from srlite.console.audit import show_audit
from srlite.evaluation.document import Audit, Case, Judged, Said
from srlite.evaluation.trials import Reply, Trial, counted, should_be
from srlite.types import Item

WALK = Item("18_4", "walks backward", "x", temporal=True, directed=True)
STAND = Item("30_1", "stands on one foot", "x", temporal=True, duration_s=2.0)
WAVE = Item("10_2", "waves", "x", temporal=True)
UNABLE = "unable_to_assess"


def said(description, decision):
    return Said(description=description, tokens=5, decision=decision, verdicts={})


def case(clip, outcome="pass", item="18_4", child=None, **arms):
    return Case(
        clip=clip,
        clip_sha256=clip,
        item=item,
        outcome=outcome,
        child=child,
        sex=None,
        age_months=18.0,
        site=None,
        arms={name: said(*words) for name, words in arms.items()},
    )


def trial(of, change, should=(), **replies):
    return Trial(of, change, should, {name: Reply(*words) for name, words in replies.items()})


# ---- what should follow ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "outcome", "change", "left_s", "expected"),
    [
        (WALK, "pass", "blank", 5.0, (UNABLE,)),
        (WAVE, "fail", "blank", 5.0, (UNABLE,)),
        (WALK, "pass", "reversed", 5.0, ("fail", UNABLE)),
        (WALK, "fail", "reversed", 5.0, ()),  # who stood still stands still backward
        (WAVE, "pass", "reversed", 5.0, ()),  # waving run backward is waving
        (WALK, "pass", "shuffled", 5.0, ()),
        (STAND, "pass", "halved", 1.9, ("fail", UNABLE)),
        (STAND, "pass", "halved", 2.0, ()),  # two seconds may be seen in two seconds
        (STAND, "fail", "halved", 1.9, ()),
        (STAND, "pass", "cut", 1.0, ("fail", UNABLE)),
        (WALK, "pass", "halved", 0.5, ()),
    ],
)
def test_what_should_follow_from_a_change(item, outcome, change, left_s, expected):
    assert should_be(case("a", outcome, item.code), item, change, left_s=left_s, other=None) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [(case("b", "fail"), ("fail",)), (case("b", "pass"), ()), (case("b", "fail", "30_1"), ()), (None, ())],
)
def test_a_clip_of_the_other_outcome_should_bring_that_outcome(other, expected):
    assert should_be(case("a", "pass"), WALK, "other_child", left_s=5.0, other=other) == expected


# ---- counting -------------------------------------------------------------------------------------------------------

A = case("a", "pass", base=("walks", "pass"), adapted=("backward", "pass"))
B = case("b", "fail", base=("walks", "pass"), adapted=("forward", "fail"))
C = case("c", "pass", base=("stands", None), adapted=("backward", "pass"))
D = case("d", "fail", base=("stands", "fail"), adapted=("a blur", UNABLE))
BLANKS = [
    trial(A, "blank", (UNABLE,), base=("walks", "pass"), adapted=("grey", UNABLE)),
    trial(B, "blank", (UNABLE,), base=("walks", "pass"), adapted=("grey", UNABLE)),
    trial(C, "blank", (UNABLE,), base=("walks", "pass"), adapted=("backward", "pass")),
    trial(D, "blank", (UNABLE,), base=("moves", "pass"), adapted=("forward", "fail")),
]
REVERSED = [
    trial(A, "reversed", ("fail", UNABLE), base=("walks", "pass"), adapted=("forward", "fail")),
    trial(C, "reversed", ("fail", UNABLE), base=("moves", "fail"), adapted=("a blur", None)),
]


def looked(arm, change):
    return next(one for one in arm.looked if one.change == change)


def turned(arm, change):
    return next(one for one in arm.turned if one.change == change)


@pytest.fixture
def found() -> Audit:
    return counted([A, B, C, D], [*BLANKS, *REVERSED], ["base", "adapted"])


def test_changes_are_counted(found):
    base, adapted = (looked(found.arms[name], "blank") for name in ("base", "adapted"))
    assert (base.description_changed.value, adapted.description_changed.value) == (2 / 4, 3 / 4)
    assert (base.decision_changed.value, base.decision_changed.n) == (1 / 3, 3)  # of C nothing was decided before
    assert (adapted.decision_changed.value, adapted.decision_changed.n) == (3 / 4, 4)
    assert (base.accuracy.value, adapted.accuracy.value) == (2 / 4, 2 / 4)
    assert (found.arms["base"].accuracy.value, found.arms["adapted"].accuracy.value) == (2 / 4, 3 / 4)
    assert looked(found.arms["adapted"], "reversed").decision_changed.n == 1  # of C nothing was decided after


def test_only_right_pairs_can_turn_and_unscored_has_not(found):
    base, adapted = (turned(found.arms[name], "reversed") for name in ("base", "adapted"))
    assert (base.n, base.as_it_should.value) == (1, 0.0)
    assert (adapted.n, adapted.as_it_should.value, adapted.items) == (2, 1 / 2, ("18_4",))
    assert turned(found.arms["adapted"], "blank").as_it_should.value == pytest.approx(2 / 3)
    assert {one.change for one in found.arms["base"].turned} == {"blank", "other_child", "reversed", "halved", "cut"}


def test_what_cannot_be_told_has_a_reason(found):
    for change in ("other_child", "halved", "cut"):
        none = turned(found.arms["adapted"], change)
        assert (none.n, none.as_it_should.value, none.items) == (0, None, ()) and none.as_it_should.reason
    assert not any(one.change == "cut" for one in found.arms["adapted"].looked)


def test_benefit_before_and_after_training(found):
    base, adapted = (found.arms[name].benefit for name in ("base", "adapted"))
    assert (base.helped, base.hurt, base.n) == (1, 1, 4)  # D is right with its clip, C with none
    assert (adapted.helped, adapted.hurt, adapted.n) == (2, 1, 4)  # A and B with their clips, D with none
    assert (found.acquired, found.lost) == (2, 1)
    assert found.p == binomtest(2, 3, 0.5).pvalue == 1.0


def test_mcnemar_is_exact_and_two_sided():
    ten = [case(f"{i}", "pass", base=("x", "fail"), adapted=("y", "pass")) for i in range(10)]
    blanks = [trial(c, "blank", (UNABLE,), base=("x", "fail"), adapted=("z", UNABLE)) for c in ten]
    found = counted(ten, blanks, ["base", "adapted"])
    assert (found.acquired, found.lost, found.p) == (10, 0, pytest.approx(2 * 0.5**10))
    assert any("10 pairs" in w and "more than chance" in w for w in found.words)


def test_without_a_difference_there_is_no_p():
    found = counted([A], BLANKS[:1], ["base", "adapted"])
    assert (found.acquired, found.lost) == (1, 0)
    same = counted([B], BLANKS[1:2], ["adapted"])
    assert (same.acquired, same.lost, same.p) == (None, None, None)
    nothing = counted([C], BLANKS[2:3], ["base", "adapted"])
    assert (nothing.acquired, nothing.lost, nothing.p) == (0, 0, None)
    assert any("no difference to test" in w for w in nothing.words)


def test_the_interval_is_wilsons(found):
    # Newcombe 1998 gives Wilson's without continuity correction; for 3 of 4 by hand: (0.301, 0.954)
    share = looked(found.arms["adapted"], "blank").description_changed
    assert (share.low, share.high) == (pytest.approx(0.3006, abs=1e-4), pytest.approx(0.9544, abs=1e-4))


def test_words_say_the_counts(found):
    words = "\n".join(found.words)
    assert "base: with a blank clip 2 of 4 descriptions stay the same" in words
    assert "adapted: with a blank clip 1 of 4" in words
    assert "All 3 right decisions should turn into unable to assess; 2 do." in words
    assert "All 2 right decisions should turn into unable to assess; none do." in words
    assert "adapted: descriptions that change: 2 of 2 with the pictures reversed;" in words
    assert "adapted: run backward, where direction decides (18_4), 1 of 2 right passes turn" in words
    assert "whether duration is seen cannot be told" in words
    assert "adapted: the video helps in 2 of 4 pairs" in words
    assert "For 4 pairs there was no other clip to show." in words
    assert "The clip of 2 pairs has one picture only" in words
    assert "With 4 pairs a share is uncertain by some 35 points" in words  # 2 of 4: 0.150 to 0.850
    assert "%)" not in words.replace("(95 %)", "")  # four pairs are too few for percentages


def test_duration_is_told_of_where_what_is_left_is_too_short():
    stands = case("s", "pass", "30_1", base=("three seconds", "pass"))
    trials = [trial(stands, "blank", (UNABLE,), base=("grey", UNABLE))]
    trials += [trial(stands, change, ("fail", UNABLE), base=("one second", "fail")) for change in ("halved", "cut")]
    words = "\n".join(counted([stands], trials, ["base"]).words)
    assert "cut below the seconds that the item asks for (30_1), 1 of 1 right passes turn" in words
    assert "halved, where that leaves less than the seconds that the item asks for (30_1), 1 of 1" in words


def test_of_enough_pairs_a_percentage_is_told():
    ten = [case(f"{i}", "pass", base=("x", "pass")) for i in range(10)]
    found = counted(ten, [trial(c, "blank", (UNABLE,), base=("x", "pass")) for c in ten], ["base"])
    assert "with a blank clip 10 of 10 (100%) descriptions stay the same" in found.words[0]


def test_without_pairs_it_says_so():
    found = counted([], [], ["base", "adapted"])
    assert found.words == ("There was no matched pair to look at again.",)
    assert found.arms["base"].accuracy.value is None and found.arms["base"].benefit.n == 0


def test_the_page_shows_every_change_and_every_sentence(found, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    show_audit(Screen(), found)
    shown = " ".join(capsys.readouterr().out.split())
    for text in ("base", "adapted", "the clip itself", "a grey clip", "pictures reversed", "0.75 of 4", "[0.30, 0.95]", "n/a"):
        assert text in shown
    assert all(" ".join(sentence.split()) in shown for sentence in found.words)


def test_the_page_shows_markup_as_text(capsys):
    odd = case("a", "pass", "[/b]\x1b[31m", base=("x", "pass"))
    blank = trial(odd, "blank", (UNABLE,), base=("y", UNABLE))
    show_audit(Screen(), counted([odd], [blank, trial(odd, "reversed", ("fail",), base=("x", "fail"))], ["base"]))
    shown = capsys.readouterr().out
    assert "[/b]" in shown and "\x1b" not in shown


# ---- which other clip -----------------------------------------------------------------------------------------------


def other(of, *cases, seed=0):
    from srlite.evaluation.audit import other_clip

    return other_clip(of, [of, *cases], seed)


def test_the_other_clip_is_the_nearest_there_is():
    of = case("a", "pass", "18_4", child="1")
    wanted = case("b", "fail", "18_4", child="2")
    same_outcome = case("c", "pass", "18_4", child="2")
    other_item = case("d", "fail", "30_1", child="3")
    own_child = case("e", "fail", "18_4", child="1")
    nobody = case("f", "fail", "18_4")
    ranked = [wanted, same_outcome, other_item, own_child]
    for i, best in enumerate(ranked):
        assert other(of, *ranked[i:][::-1]) == best
    assert other(of, other_item, nobody) == other_item
    assert other(of, case("a", "fail", "30_1", child="2")) is None  # the same clip under another item
    assert other(of) is None


def test_the_seed_chooses_among_equals():
    of, equals = case("a", "pass", child="1"), [case(f"{i}", "fail", child=f"c{i}") for i in range(8)]
    chosen = [other(of, *equals, seed=seed) for seed in range(20)]
    assert len({c.clip for c in chosen}) > 3
    assert other(of, *equals[::-1], seed=5) == chosen[5]


# ---- on the bundled models ------------------------------------------------------------------------------------------


@contextmanager
def opened(data, run):
    from srlite.training.run import finished_run
    from srlite.workbench import open_workbench

    folder = finished_run(run)
    with open_workbench(folder.settings(), folder.catalogue(), videos=data / "videos", adapter=folder.adapter) as bench:
        yield bench


def own_clips(bench, data, run, states):
    """The cases of the test part, as evaluate makes them."""
    from srlite.describing import describe_all, judged
    from srlite.records.dataset import read_dataset
    from srlite.records.mismatch import matched_pairs
    from srlite.training.run import finished_run

    pairs = matched_pairs(finished_run(run).split(read_dataset(data / "items.csv", data / "videos", None).records).test)
    arms = {}
    for name, state in states:
        with state():
            described, unreadable = describe_all(bench, pairs, tick=lambda done, total: None)
        assert not unreadable
        arms[name] = list(zip(described, judged(bench, described), strict=True))
    return [_case(pair, {name: found[i] for name, found in arms.items()}) for i, pair in enumerate(pairs)]


def _case(pair, arms):
    described, _ = next(iter(arms.values()))
    return Case(
        clip=pair.clip,
        clip_sha256=described.clip.sha256,
        item=pair.item,
        outcome=pair.outcome,
        child=pair.child,
        sex=pair.sex,
        age_months=pair.age_months,
        site=pair.site,
        arms={name: _said(decided) for name, (_, decided) in arms.items()},
    )


def _said(d):
    verdicts = {q: Judged(answer=v.answer, probability=v.probability, mass=v.mass) for q, v in d.verdicts.items()}
    return Said(description=d.description, tokens=d.tokens, decision=d.decision, verdicts=verdicts)


def features_on_disk():
    from srlite.models.store import cache_folder

    return {p.name: p.read_bytes() for p in Path(cache_folder() / "features").rglob("*.safetensors")}


@pytest.fixture(scope="module")
def audited(data, trained, tmp_path_factory):
    """An audit of the small clinic's run, and all that is to be said of how it was made."""
    from srlite.descriptor.load import adapter_off
    from srlite.evaluation.audit import audit

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SRLITE_HOME", str(tmp_path_factory.mktemp("home")))
        with opened(data, trained) as bench:
            states = [("base", partial(adapter_off, bench.descriptor)), ("adapted", nullcontext)]
            cases = own_clips(bench, data, trained, states)
            before, looks, ticks = features_on_disk(), [], []
            hook = bench.descriptor.core.visual.register_forward_hook(lambda *_: looks.append(1))
            unread = cases[0].model_copy(update={"clip": "gone.mp4", "unreadable": "it is not there", "arms": {}})
            unrelated = cases[0].model_copy(update={"outcome": None})
            found = audit(
                bench, [*cases, unread, unrelated], states, seed=3, tick=lambda done, total: ticks.append((done, total))
            )
            hook.remove()
            alone = audit(bench, cases, states[:1], seed=3, tick=lambda done, total: None)
        return dict(
            cases=cases, found=found, alone=alone, looks=len(looks), ticks=ticks, before=before, after=features_on_disk()
        )


@pytest.mark.slow
def test_every_matched_pair_is_looked_at_again_and_the_counts_add_up(audited):
    found, cases = audited["found"], audited["cases"]
    assert audited["ticks"] == [(i + 1, len(cases)) for i in range(len(cases))] and len(cases) >= 6
    for name, arm in found.arms.items():
        right = sum(c.arms[name].decision == c.outcome for c in cases)
        assert round(arm.accuracy.value * arm.accuracy.n) == right and arm.accuracy.n == len(cases)
        assert {one.change for one in arm.looked} == {"blank", "other_child", "reversed", "shuffled", "halved"}
        for one in arm.looked:
            assert one.n == one.description_changed.n == one.accuracy.n == len(cases)
            assert one.decision_changed.n <= one.n
            changed = one.decision_changed.value * one.decision_changed.n
            assert changed <= one.description_changed.value * one.n + 1e-9  # the same words are decided alike
        then = looked(arm, "blank").accuracy
        assert arm.benefit.helped - arm.benefit.hurt == right - round(then.value * then.n)
        assert turned(arm, "blank").n == right
    helped = {name: arm.benefit.helped for name, arm in found.arms.items()}
    assert found.acquired - found.lost == helped["adapted"] - helped["base"]


@pytest.mark.slow
def test_the_bundled_model_looks(audited):
    """Most of what it says is not said of a grey clip."""
    for arm in audited["found"].arms.values():
        assert looked(arm, "blank").description_changed.value > 0.5


@pytest.mark.slow
def test_the_tower_looks_once_for_all_arms(audited):
    """At four changed clips a pair; another child's clip was looked at before."""
    assert audited["looks"] == 4 * len(audited["cases"])


@pytest.mark.slow
def test_an_arm_says_the_same_alone(audited):
    assert audited["alone"].arms["base"] == audited["found"].arms["base"]


@pytest.mark.slow
def test_the_cache_of_features_is_as_before(audited):
    assert audited["before"] == audited["after"]
    assert len(audited["before"]) == len({c.clip_sha256 for c in audited["cases"]})


@pytest.mark.slow
def test_the_document_carries_it_there_and_back(audited):
    found = audited["found"]
    assert Audit.model_validate_json(found.model_dump_json()) == found
