"""Evaluations to make reports of, put together from the records of evaluation.json and counted from their cases."""

import random

from cases_by_hand import data_of

from srlite.evaluation.comparison import comparisons
from srlite.evaluation.document import (
    Audit,
    AuditedArm,
    Benefit,
    Card,
    Case,
    Evaluation,
    ItemText,
    Judged,
    Looked,
    Named,
    Opinion,
    Said,
    Turned,
)
from srlite.evaluation.figures import Basis, arm_figures
from srlite.evaluation.flow import flow_of
from srlite.evaluation.intervals import proportion
from srlite.evaluation.second import second_judge_of
from srlite.judge.questions import QUESTIONS, RULES, SYSTEM
from srlite.types import Item

ITEMS = {
    "18_4": ("walks backward", "The child takes at least two steps backward.", True),
    "30_1": ("stands on one foot for 2 seconds", "The child stands on one foot for at least two seconds.", True),
    "6_3": ("reaches for a ring", "The child reaches for the ring and touches it.", False),
    "12_4": ("gives a car on request", "The child puts the car into the hand that is held out.", False),
}
RIGHT = {"generic": 0.3, "base": 0.6, "adapted": 0.85}
"""How often an arm's decision is the clinician's."""


def estimate(hits):
    return proportion(hits, of="such pairs")


def verdicts(decision, p=0.93):
    yes, no, unscored = Judged(answer="yes", probability=p, mass=0.98), Judged(answer="no", probability=1 - p, mass=0.98), None
    unscored = Judged(answer="unscored", probability=None, mass=0.2)
    evidence = unscored if decision is None else no if decision == "unable_to_assess" else yes
    return {
        "evidence": evidence,
        "met": yes if decision == "pass" else no,
        "relevant": yes,
        "well_formed": yes,
        "abstains": yes if decision == "unable_to_assess" else no,
        "echo": no,
    }


def said(decision, description="The child takes three steps; the face points away from the way of walking.", p=0.93, true=None):
    return Said(
        description=description, tokens=len(description) // 4, decision=decision, verdicts=verdicts(decision, p), true=true
    )


def case(number, item, outcome, arms, **more):
    facts = dict(clip=f"B{number:03d}_{item}.mp4", clip_sha256=f"{number:064x}", child=f"B{number // 3:03d}", site="north")
    facts |= dict(sex=("female", "male")[number % 2], age_months=float(item.split("_")[0]), duration_s=4.0)
    facts |= dict(frames_s=tuple(0.25 + 0.5 * i for i in range(8)))
    return Case(item=item, outcome=outcome, arms=arms, **(facts | more))


def cases(count, arms=("base", "adapted"), seed=0):
    """`count` matched pairs and half as many unrelated ones, with every kind of decision among them."""
    dice, codes, made = random.Random(seed), list(ITEMS), []
    for number in range(count + count // 2):
        outcome = None if number >= count else "pass" if dice.random() < 0.7 else "fail"
        made.append(case(number, codes[number % len(codes)], outcome, {name: _said(dice, name, outcome) for name in arms}))
    return tuple(made)


def _said(dice, name, outcome):
    right, wrong = outcome or "unable_to_assess", {"pass": "fail", "fail": "pass", None: "pass"}[outcome]
    if dice.random() < 0.04:
        return said(None)
    if outcome and dice.random() < 0.08:
        return said("unable_to_assess", "The child stands behind a chair. It cannot be assessed.")
    return said(right if dice.random() < RIGHT[name] else wrong, p=round(0.55 + 0.45 * dice.random(), 3))


# ---- figures, counted -----------------------------------------------------------------------------------------------

BASIS = Basis(
    [Item(code, *ITEMS[code][:2], domain="gross motor", age_months=int(code.split("_")[0])) for code in ITEMS],
    dict.fromkeys((q.id for q in QUESTIONS), 0.5),
    seed=0,
)


def audit(names):
    hits = [True] * 12 + [False] * 8
    looked = lambda change, shift: Looked(
        change=change,
        n=20,
        description_changed=estimate(hits[shift:] + [True] * shift),
        decision_changed=estimate(hits[::-1][shift:]),
        accuracy=estimate(hits),
    )
    changes = ("blank", "other_child", "reversed", "shuffled", "halved")
    one = AuditedArm(
        accuracy=estimate(hits),
        looked=tuple(looked(change, shift) for shift, change in enumerate(changes)),
        turned=(Turned(change="reversed", items=("18_4",), n=5, as_it_should=estimate([True] * 3 + [False] * 2)),),
        benefit=Benefit(helped=9, hurt=2, n=20),
    )
    words = ("After training, a blank clip changes 60% of the descriptions: it does look.",)
    return Audit(arms=dict.fromkeys(names, one), acquired=5, lost=1, p=0.22, words=words)


def with_second(found):
    """The same cases with a second judge's opinions: its own on every fifth description."""
    own = lambda at, said: None if at % 5 == 0 else said.decision
    opinion = lambda at, said: Opinion(decision=own(at, said), verdicts={})
    told = lambda at, c: {n: s.model_copy(update={"second": opinion(at, s)}) for n, s in c.arms.items()}
    return tuple(c.model_copy(update={"arms": told(at, c)}) for at, c in enumerate(found))


def second(found, names):
    made = second_judge_of(found, names, Named(id="qwen3-4b", sha256="d" * 64), first_sha256="f" * 64)
    return made.model_copy(update={"warnings": ("The second judge does not see the gain.",)})


def card():
    return Card(
        descriptor=Named(id="tiny-descriptor", sha256="a" * 64),
        adapter=Named(id="run", sha256="b" * 64),
        judge=Named(id="tiny-judge", sha256="c" * 64),
        demonstration=True,
        questions={q.id: q.text for q in QUESTIONS},
        judge_texts={"system": SYSTEM, "rules": RULES.strip()},
        items=tuple(
            ItemText(
                code=code,
                name=name,
                criterion=criterion,
                guidance="Film from the side with the whole body in view.",
                domain="gross motor",
                age_months=int(code.split("_")[0]),
                temporal=temporal,
                directed=code == "18_4",
                duration_s=None,
                prompt=f"Item: {name}. Criterion: {criterion}",
                generic_prompt="Summarise the gross motor behaviour of the child in this clip.",
            )
            for code, (name, criterion, temporal) in ITEMS.items()
        ),
        split="child",
        steps=48,
        settings={"seed": 0, "schedule": {"rounds": 5}},
        versions={"srlite": "0.1.0", "torch": "2.9.0"},
    )


def evaluation(found, arms=("base", "adapted"), closer=False, demonstration=True, **more):
    """The document about these cases. closer: with an audit and a second judge."""
    found = with_second(found) if closer else found
    return Evaluation(
        run="run",
        demonstration=demonstration,
        arms={name: arm_figures(found, name, BASIS) for name in arms},
        comparisons=comparisons(found, arms, seed=0),
        flow=flow_of(*data_of(found, no_outcome=7, repeated=1, train=20, validation=5), found, arms),
        unreadable=tuple(f"{c.clip}: {c.unreadable}" for c in found if c.unreadable),
        audit=audit(arms) if closer else None,
        second_judge=second(found, arms) if closer else None,
        card=card(),
        cases=found,
        **more,
    )
