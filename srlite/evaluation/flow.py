"""Where the records went, in the manner of STARD's flow diagram (Bossuyt et al. 2015): rows in, left out and why, each side,
and what became of the test part. `sums_that_fail` checks that nothing is lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from srlite.evaluation.document import ArmName, Case, Flow
from srlite.evaluation.figures import assessed
from srlite.records.dataset import Dataset
from srlite.records.sides import Split
from srlite.types import Decision

UNSCORED = "unscored"
KINDS = (*get_args(Decision), UNSCORED)


def flow_of(data: Dataset, split: Split, cases: Sequence[Case], arms: Sequence[ArmName]) -> Flow:
    """The counts. Every arm was asked about the same pairs."""
    unread = [c for c in cases if c.unreadable is not None]
    read = [c for c in cases if c.unreadable is None]
    by_decision, unrelated = ({arm: _decisions(read, arm, matched=kind) for arm in arms} for kind in (True, False))
    return Flow(
        records=len(data.records),
        no_outcome=data.no_outcome,
        repeated=data.repeated,
        train=len(split.train),
        validation=len(split.validation),
        test=len(split.test),
        test_pairs=sum(c.matched for c in read),
        unrelated_pairs=sum(not c.matched for c in read),
        unreadable_pairs=len(unread),
        unreadable_matched=sum(c.matched for c in unread),
        decisions=by_decision,
        unrelated_decisions=unrelated,
        unscored={arm: by_decision[arm][UNSCORED] + unrelated[arm][UNSCORED] for arm in arms},
    )


def sums_that_fail(flow: Flow) -> tuple[str, ...]:
    """In words, every sum of the flow that does not come out; empty when all do."""
    wrong = [(what, whole, parts) for what, whole, parts in _sums(flow) if whole != sum(parts)]
    return tuple(f"{what}: {whole} is not {' + '.join(map(str, parts))}" for what, whole, parts in wrong)


def _sums(f: Flow) -> Iterator[tuple[str, int, Sequence[int]]]:
    """What, the whole, and its parts."""
    yield "records by side", f.records, (f.train, f.validation, f.test)
    yield "the test part", f.test, (f.test_pairs, f.unreadable_matched)
    for name, counts in f.decisions.items():
        yield f"{name}: matched pairs by decision", f.test_pairs, tuple(counts.values())
    for name, counts in f.unrelated_decisions.items():
        yield f"{name}: unrelated pairs by decision", f.unrelated_pairs, tuple(counts.values())
        yield f"{name}: unscored", f.unscored[name], (f.decisions[name][UNSCORED], counts[UNSCORED])


def _decisions(cases: Sequence[Case], arm: ArmName, *, matched: bool) -> Mapping[str, int]:
    found = Counter(c.arms[arm].decision or UNSCORED for c in assessed(cases, arm, matched=matched))
    return {kind: found[kind] for kind in KINDS}
