"""Cases of an evaluation made by hand, and a whole evaluation of them, without any model."""

from srlite.evaluation.comparison import comparisons
from srlite.evaluation.document import Card, Case, Evaluation, Judged, Named, Opinion, Said
from srlite.evaluation.figures import Basis, arm_figures
from srlite.evaluation.flow import flow_of
from srlite.evaluation.second import second_judge_of
from srlite.records.dataset import Dataset
from srlite.records.sides import Split
from srlite.types import Item, Record

HALF = dict.fromkeys(("evidence", "met", "relevant", "well_formed", "abstains", "echo"), 0.5)
ITEMS = (
    Item("18_4", "walks backward", "The child takes two steps backward.", age_months=18, domain="gross motor"),
    Item("6_3", "reaches", "The child reaches for the toy.", age_months=6, domain="fine motor"),
)
BASIS = Basis(ITEMS, HALF, seed=7)
ANSWERS = {"pass": ("yes", "yes"), "fail": ("yes", "no"), "unable_to_assess": ("no", "no"), None: ("unscored", "unscored")}
"""Decision -> the answers to evidence and met that make it."""


def judged(answer, p=None):
    probability = {"yes": 0.9, "no": 0.1, "unscored": None}[answer] if p is None else p
    return Judged(answer=answer, probability=probability, mass=1.0)


def said(decision, *, relevant="yes", evidence=None, met=None, tokens=10, true=None, second=...):
    """evidence, met: the probabilities, where they matter. second: the second judge's decision."""
    answers = ANSWERS[decision]
    verdicts = {"evidence": judged(answers[0], evidence), "met": judged(answers[1], met), "relevant": judged(relevant)}
    verdicts |= {"well_formed": judged("yes"), "abstains": judged("no"), "echo": judged("no")}
    opinion = None if second is ... else Opinion(decision=second, verdicts={})
    return Said(description="The child walks.", tokens=tokens, decision=decision, verdicts=verdicts, true=true, second=opinion)


def case(outcome, *, number=0, item="18_4", child=None, unreadable=None, sex=None, age=None, **arms):
    """One pair; arms by name: a decision, or what `said` makes."""
    told = {name: a if isinstance(a, Said) else said(a) for name, a in arms.items()}
    return Case(
        clip=f"{number:03d}.mp4",
        clip_sha256=None,
        item=item,
        outcome=outcome,
        child=child,
        sex=sex,
        age_months=age,
        site=None,
        unreadable=unreadable,
        arms=told,
    )


def cases(*rows, item="18_4", **more):
    """One case a row, each of a child of its own: (outcome, decision of the arm adapted) or (outcome, {arm: decision})."""
    asked = [(outcome, arms if isinstance(arms, dict) else {"adapted": arms}) for outcome, arms in rows]
    return [case(o, number=i, child=f"c{i}", item=item, **more, **a) for i, (o, a) in enumerate(asked)]


def data_of(found, *, no_outcome=0, repeated=0, train=0, validation=0):
    """The records and the split that such cases come from."""
    other = [Record(f"other-{i}.mp4", "18_4", "pass") for i in range(train + validation)]
    test = [Record(c.clip, c.item, c.outcome) for c in found if c.matched]
    split = Split(tuple(other[:train]), tuple(other[train:]), tuple(test))
    return Dataset((*other, *test), None, (), no_outcome, repeated), split


def evaluation(found, arms=("adapted",), *, second=False):
    """The document of these cases."""
    return Evaluation(
        run="a-run",
        demonstration=False,
        arms={arm: arm_figures(found, arm, BASIS) for arm in arms},
        comparisons=comparisons(found, arms, seed=BASIS.seed),
        flow=flow_of(*data_of(found, train=3, validation=1), found, arms),
        unreadable=tuple(f"{c.clip}: {c.unreadable}" for c in found if c.unreadable),
        second_judge=second_judge_of(found, arms, NAMED, first_sha256="f" * 64) if second else None,
        card=CARD,
        cases=tuple(found),
    )


NAMED = Named(id="other-judge", sha256="0" * 64)
CARD = Card(
    descriptor=NAMED,
    adapter=NAMED,
    judge=NAMED,
    demonstration=False,
    questions={},
    judge_texts={},
    items=(),
    split="child",
    steps=None,
    settings={},
    versions={},
)
