"""Evaluations to make reports of, put together from the records of evaluation.json and counted from their cases."""

import random
from collections import Counter

from srlite.evaluation.document import (
    Arm,
    Audit,
    AuditedArm,
    Benefit,
    Bin,
    ByChild,
    Calibration,
    Card,
    Case,
    Comparison,
    Covered,
    Estimate,
    Evaluation,
    Figures,
    Flow,
    ItemFigures,
    ItemText,
    Judged,
    Looked,
    Matrix,
    Named,
    Said,
    SecondArm,
    SecondJudge,
    Turned,
)
from srlite.evaluation.metrics import proportion
from srlite.judge.questions import QUESTIONS, RULES, SYSTEM

ITEMS = {
    "18_4": ("walks backward", "The child takes at least two steps backward.", True),
    "30_1": ("stands on one foot for 2 seconds", "The child stands on one foot for at least two seconds.", True),
    "6_3": ("reaches for a ring", "The child reaches for the ring and touches it.", False),
    "12_4": ("gives a car on request", "The child puts the car into the hand that is held out.", False),
}
RIGHT = {"generic": 0.3, "base": 0.6, "adapted": 0.85}
"""How often an arm's decision is the clinician's."""


def estimate(hits):
    found = proportion(hits)
    reason = None if hits else "there are no such pairs"
    return Estimate(value=found.value, low=found.low, high=found.high, n=found.n, reason=reason)


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


def figures(found, name):
    """Of matched cases."""
    pairs = [(c.outcome, c.arms[name].decision) for c in found if c.outcome and name in c.arms]
    n = Counter(pairs)
    matrix = Matrix(
        tp=n["pass", "pass"],
        fn=n["pass", "fail"],
        fp=n["fail", "pass"],
        tn=n["fail", "fail"],
        unable_pass=n["pass", "unable_to_assess"],
        unable_fail=n["fail", "unable_to_assess"],
        unscored_pass=n["pass", None],
        unscored_fail=n["fail", None],
    )
    passed, failed = [d for o, d in pairs if o == "pass"], [d for o, d in pairs if o == "fail"]
    of = lambda wanted: estimate([o == wanted for o, d in pairs if d == wanted])
    return Figures(
        matrix=matrix,
        accuracy=estimate([o == d for o, d in pairs]),
        accuracy_decided=estimate([o == d for o, d in pairs if d in ("pass", "fail")]),
        sensitivity=estimate([d == "pass" for d in passed]),
        specificity=estimate([d == "fail" for d in failed]),
        ppv=of("pass"),
        npv=of("fail"),
        balanced_accuracy=Estimate(value=None, n=len(pairs), reason="not worked out here"),
        base_rate=len(passed) / len(pairs) if pairs else None,
        majority=max(len(passed), len(failed)) / len(pairs) if pairs else None,
        few=f"only {len(failed)} fails" if 0 < len(failed) < 3 else None,
    )


def item_figures(found, name):
    f = figures(found, name)
    m = f.matrix
    return ItemFigures(
        recall=f.sensitivity.value,
        precision=f.ppv.value,
        **{field: getattr(m, field) for field in ("tp", "fn", "fp", "tn", "unable_pass", "unable_fail")},
        unscored=m.unscored_pass + m.unscored_fail,
        figures=f,
    )


def arm(found, name):
    matched, unrelated = [c for c in found if c.outcome], [c for c in found if not c.outcome]
    overall = figures(found, name)
    items = {code: item_figures([c for c in matched if c.item == code], name) for code in ITEMS}
    abstention = estimate([c.arms[name].decision == "unable_to_assess" for c in unrelated if name in c.arms])
    children = len({c.child for c in matched})
    return Arm(
        accuracy=overall.accuracy,
        abstention=abstention,
        relevance=estimate([True] * len(found)),
        length_tokens=18.0,
        items_recall_above_half=sum((i.recall or 0) > 0.5 for i in items.values()),
        items=items,
        overall=overall,
        by_child=ByChild(
            children=children,
            accuracy=overall.accuracy,
            sensitivity=overall.sensitivity,
            specificity=overall.specificity,
            abstention=abstention,
        ),
        strata={
            "sex": {sex: figures([c for c in matched if c.sex == sex], name) for sex in ("female", "male")},
            "age": {f"{age} months": figures([c for c in matched if c.age_months == age], name) for age in (6, 12, 18, 30, 42)},
        },
        coverage=tuple(
            Covered(
                band=b, coverage=1 - 2 * b, risk=max(0.0, 0.3 - b - 0.1 * (name == "adapted")), decided=int(40 * (1 - 2 * b))
            )
            for b in (0.0, 0.1, 0.2, 0.3, 0.4)
        ),
        calibration=Calibration(
            brier=0.12,
            n=40,
            bins=tuple(
                Bin(low=i / 5, high=(i + 1) / 5, n=8, mean_probability=i / 5 + 0.1, share_passed=min(1.0, i / 5 + 0.05))
                for i in range(5)
            ),
        ),
    )


def comparison(found, before, after):
    right = [(c.arms[before].decision == c.outcome, c.arms[after].decision == c.outcome) for c in found if c.outcome and c.arms]
    n = Counter(right)
    difference = (n[False, True] - n[True, False]) / max(1, len(right))
    change = Estimate(value=difference, low=difference - 0.1, high=difference + 0.1, n=len(right))
    return Comparison(
        before=before,
        after=after,
        n=len(right),
        both_right=n[True, True],
        only_before=n[True, False],
        only_after=n[False, True],
        neither=n[False, False],
        p=0.004,
        difference=change,
        abstention_difference=change,
        items_gained=("18_4",),
        items_lost=(),
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
        looked=tuple(looked(change, shift) for shift, change in enumerate(changes)),
        turned=(Turned(change="reversed", items=("18_4",), n=5, as_it_should=estimate([True] * 3 + [False] * 2)),),
        benefit=Benefit(helped=9, hurt=2, n=20),
    )
    words = ("After training, a blank clip changes 60% of the descriptions: it does look.",)
    return Audit(arms=dict.fromkeys(names, one), acquired=5, lost=1, p=0.22, words=words)


def second(names):
    one = SecondArm(agreement=estimate([True] * 17 + [False] * 3), kappa=0.61, accuracy=estimate([True] * 15 + [False] * 5))
    none = SecondArm(agreement=one.agreement, kappa=None, kappa_reason="it gave one answer only", accuracy=one.accuracy)
    arms = {name: one if name == "adapted" else none for name in names}
    return SecondJudge(
        judge=Named(id="qwen3-4b", sha256="d" * 64), arms=arms, warnings=("The second judge does not see the gain.",)
    )


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


def flow(found, names):
    matched = [c for c in found if c.outcome]
    readable = [c for c in matched if c.unreadable is None]
    decisions = {
        name: {
            d or "unscored": sum(c.arms[name].decision == d for c in readable)
            for d in ("pass", "fail", "unable_to_assess", None)
        }
        for name in names
    }
    return Flow(
        records=10 * len(matched),
        no_outcome=7,
        train=8 * len(matched),
        validation=len(matched),
        test=len(matched),
        test_pairs=len(matched),
        unrelated_pairs=len(found) - len(matched),
        unreadable_pairs=sum(c.unreadable is not None for c in found),
        decisions=decisions,
        unscored={name: sum(c.arms[name].decision is None for c in found if c.arms) for name in names},
    )


def evaluation(found, arms=("base", "adapted"), closer=False, demonstration=True, **more):
    """The document about these cases. closer: with an audit and a second judge."""
    return Evaluation(
        run="run",
        demonstration=demonstration,
        arms={name: arm(found, name) for name in arms},
        comparisons=tuple(comparison(found, before, arms[-1]) for before in arms[:-1]),
        flow=flow(found, arms),
        unreadable=tuple(f"{c.clip}: {c.unreadable}" for c in found if c.unreadable),
        audit=audit(arms) if closer else None,
        second_judge=second(arms) if closer else None,
        card=card(),
        cases=found,
        **more,
    )
