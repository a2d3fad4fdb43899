"""evaluation.json: the document of schema srlite.evaluation/1, and the records that it is made of.

    cases        every pair of the test part: what is known of it, and what each arm said of it
    arms         figures of each arm, all of them worked out from the cases
    comparisons  two arms on the same pairs
    flow         where the records went; the counts add up
    audit, second_judge, ablation   where they were asked for
    card         what it was made with: models, prompts, questions, settings, split

Contract: strict JSON. An undefined figure is null with the reason in words beside it, never 0. Positive class: pass. Keys are
added, not renamed. `Evaluation.model_json_schema()` is its schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from srlite.commands import to_evaluate
from srlite.errors import InputError
from srlite.types import Answer, Decision, Outcome, Sex

SCHEMA = "srlite.evaluation/1"
ArmName = str
"""generic: the base under a broad prompt of the item's domain; base: without the adapter; ablated: with another run's;
adapted: with this run's."""


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Estimate(Part):
    """A figure with its 95 % interval. `n`: of how many; `reason`: why there is no value, or no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int
    reason: str | None = None

    @property
    def hits(self) -> int:
        """Of a share: how many of the n; 0 where it is undefined."""
        return round((self.value or 0) * self.n)


# ---- cases ----------------------------------------------------------------------------------------------------------


class Judged(Part):
    """One verdict: p(yes) among yes and no, and the probability mass on both."""

    answer: Answer
    probability: float | None
    mass: float


class Opinion(Part):
    """What another judge made of a description."""

    decision: Decision | None
    verdicts: Mapping[str, Judged]


class Said(Part):
    """What an arm said of a pair. `true`: whether it is true of the clip, where the demonstration world knows. `second`: the
    second judge's opinion, where one was asked."""

    description: str
    tokens: int
    decision: Decision | None
    verdicts: Mapping[str, Judged]
    true: bool | None = None
    second: Opinion | None = None


class Case(Part):
    """A pair of the test part. `outcome` is None for an unrelated pair. `unreadable`: why the clip could not be read."""

    clip: str
    clip_sha256: str | None
    item: str
    outcome: Outcome | None
    child: str | None
    sex: Sex | None
    age_months: float | None
    site: str | None
    duration_s: float | None = None
    frames_s: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    unreadable: str | None = None
    arms: Mapping[ArmName, Said] = Field(default_factory=dict)

    @property
    def matched(self) -> bool:
        return self.outcome is not None


# ---- figures --------------------------------------------------------------------------------------------------------


class Matrix(Part):
    """The 2x2 table of matched pairs, and those without a decision of pass or fail."""

    tp: int
    fn: int
    fp: int
    tn: int
    unable_pass: int
    unable_fail: int
    unscored_pass: int
    unscored_fail: int

    @property
    def passed(self) -> int:
        """Pairs whose outcome is pass."""
        return self.tp + self.fn + self.unable_pass + self.unscored_pass

    @property
    def failed(self) -> int:
        return self.fp + self.tn + self.unable_fail + self.unscored_fail

    @property
    def decided(self) -> int:
        return self.tp + self.fn + self.fp + self.tn


class Figures(Part):
    """Figures of some matched pairs. Without a decision a pair is wrong in `accuracy` and a miss in `sensitivity` (the recall
    of pass) and `specificity`; `accuracy_decided` leaves it out. `majority`: accuracy of always saying the commoner outcome."""

    matrix: Matrix
    accuracy: Estimate
    accuracy_decided: Estimate
    sensitivity: Estimate
    specificity: Estimate
    ppv: Estimate
    npv: Estimate
    balanced_accuracy: Estimate
    base_rate: float | None
    majority: float | None
    few: str | None = None
    """In words, where there are too few of a class to say much."""


class ItemFigures(Part):
    """An item's counts and figures; `recall` and `precision` of pass, None where undefined. `by_sex`: the same pairs by the
    child's sex."""

    recall: float | None
    precision: float | None
    tp: int
    fn: int
    fp: int
    tn: int
    unable_pass: int
    unable_fail: int
    unscored: int
    figures: Figures
    by_sex: Mapping[str, Figures] = Field(default_factory=dict)


class Covered(Part):
    """With probabilities within `band` of the threshold taken for no decision: the share decided, and wrong of these."""

    band: float
    coverage: float
    risk: float | None
    decided: int


class Bin(Part):
    """Pairs whose probability of pass lies above low and up to high: the mean of it, and the share that passed."""

    low: float
    high: float
    n: int
    mean_probability: float | None
    share_passed: float | None


class Calibration(Part):
    """Of p(met) against the outcome, over matched pairs whose evidence suffices and is no echo of the criterion."""

    brier: float | None
    n: int
    bins: tuple[Bin, ...]
    reason: str | None = None


class ByChild(Part):
    """The same shares with intervals that resample children (bootstrap), since clips of one child are not independent.
    `unnamed`: how many of `children` are clips whose child is not named."""

    children: int
    unnamed: int = 0
    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    abstention: Estimate


class Arm(Part):
    """All figures of one arm. `strata`: sex, age, domain -> its groups -> figures. `macro_*`: the mean over the n items where
    it is defined."""

    accuracy: Estimate
    abstention: Estimate
    relevance: Estimate
    truth: Estimate | None = None
    length_tokens: float | None
    items_recall_above_half: int
    macro_recall: Estimate | None = None
    macro_precision: Estimate | None = None
    items: Mapping[str, ItemFigures]
    overall: Figures
    by_child: ByChild
    strata: Mapping[str, Mapping[str, Figures]]
    coverage: tuple[Covered, ...]
    calibration: Calibration

    @property
    def items_with_passes(self) -> int:
        """How many items have a recall: at least one pass in the test part."""
        return sum(item.recall is not None for item in self.items.values())


class Comparison(Part):
    """Arm `after` beside arm `before` on the same matched pairs; `p`: exact McNemar, two-sided; `difference` of accuracy, its
    interval from a bootstrap by child. `items_gained`, `items_lost`: recall above one half only after, only before. `p_reason`:
    why there is no p."""

    before: ArmName
    after: ArmName
    n: int
    both_right: int
    only_before: int
    only_after: int
    neither: int
    p: float | None
    p_reason: str | None = None
    difference: Estimate
    abstention_difference: Estimate
    items_gained: tuple[str, ...]
    items_lost: tuple[str, ...]


class Flow(Part):
    """Records in -> train, validation, test; the test part -> unreadable or assessed; assessed -> by decision. `no_outcome`:
    rows left out because the outcome is empty, and `repeated`: because they repeat another, neither among `records`.
    `test_pairs`, `unrelated_pairs`: those assessed; `unreadable_pairs`: of both kinds, `unreadable_matched` of them records."""

    records: int
    no_outcome: int
    repeated: int = 0
    train: int
    validation: int
    test: int
    test_pairs: int
    unrelated_pairs: int
    unreadable_pairs: int
    unreadable_matched: int = 0
    decisions: Mapping[ArmName, Mapping[str, int]]
    """Arm -> pass, fail, unable_to_assess, unscored -> matched pairs."""
    unrelated_decisions: Mapping[ArmName, Mapping[str, int]] = Field(default_factory=dict)
    """The same of unrelated pairs."""
    unscored: Mapping[ArmName, int]
    """Arm -> pairs of both kinds without a decision."""

    @property
    def rows(self) -> int:
        """Of items.csv."""
        return self.records + self.no_outcome + self.repeated


# ---- looked at more closely -----------------------------------------------------------------------------------------

Change = Literal["blank", "other_child", "reversed", "shuffled", "halved", "cut"]
"""What is shown in the place of a clip (srlite.evaluation.changes). `cut`: of items with `duration_s` only."""


class Looked(Part):
    """One change to the clips: how often description and decision changed by it, and how often the decision is right then.
    Whether a decision changed is told of those that were scored both times."""

    change: Change
    n: int
    description_changed: Estimate
    decision_changed: Estimate
    accuracy: Estimate


class Turned(Part):
    """Whether a change turns the decision as it should, of pairs that were right with their own clip. What it should turn into
    is said by srlite.evaluation.trials. `items`: those of the n pairs."""

    change: Change
    items: tuple[str, ...]
    n: int
    as_it_should: Estimate


class Benefit(Part):
    """Of n pairs: `helped`, those right with their own clip and wrong with the blank one; `hurt`, the other way round."""

    helped: int
    hurt: int
    n: int


class AuditedArm(Part):
    """`accuracy`: with the pairs' own clips, to compare with."""

    accuracy: Estimate
    looked: tuple[Looked, ...]
    turned: tuple[Turned, ...]
    benefit: Benefit


class Audit(Part):
    """Each matched test pair again with another clip in its place. `acquired`, `lost`: pairs that the video began, or ceased,
    to help by training (paired, before and after); `words`: what it means."""

    arms: Mapping[ArmName, AuditedArm]
    acquired: int | None = None
    lost: int | None = None
    p: float | None = None
    words: tuple[str, ...]


class SecondArm(Part):
    agreement: Estimate
    kappa: float | None
    kappa_reason: str | None = None
    accuracy: Estimate
    """By the second judge's decisions."""


class SecondJudge(Part):
    """Another judge's decisions about the same descriptions. `agreement`, `kappa`: of decisions, pairs of both kinds."""

    judge: Named
    arms: Mapping[ArmName, SecondArm]
    warnings: tuple[str, ...]


class Ablation(Part):
    """Arm ablated: the adapter of another run, trained with `terms` of the reward, beside this run's own `adapted_terms`."""

    run: str
    adapter_sha256: str
    terms: tuple[str, ...]
    adapted_terms: tuple[str, ...]


# ---- what it was made with ------------------------------------------------------------------------------------------


class Named(Part):
    id: str
    sha256: str | None


class ItemText(Part):
    code: str
    name: str
    criterion: str
    guidance: str
    domain: str
    age_months: int | None
    temporal: bool
    directed: bool
    duration_s: float | None
    prompt: str
    """The canonical prompt for a child of the item's age."""
    generic_prompt: str


class Card(Part):
    """Models by hash, and every text that was put to them. `settings`: config.toml, without paths. `steps`: of the optimiser,
    in the whole run; the adapter may be that of an earlier one."""

    descriptor: Named
    adapter: Named
    judge: Named
    demonstration: bool
    questions: Mapping[str, str]
    judge_texts: Mapping[str, str]
    items: tuple[ItemText, ...]
    split: Literal["child", "per-item", "site", "column"]
    steps: int | None
    settings: Mapping[str, object]
    versions: Mapping[str, str]


class Evaluation(Part):
    """The whole document; the module's docstring says what its parts are."""

    schema_: Literal["srlite.evaluation/1"] = Field(SCHEMA, alias="schema")
    run: str
    positive_class: Literal["pass"] = "pass"
    demonstration: bool
    arms: Mapping[ArmName, Arm]
    comparisons: tuple[Comparison, ...] = ()
    flow: Flow
    unreadable: tuple[str, ...] = ()
    audit: Audit | None = None
    second_judge: SecondJudge | None = None
    ablation: Ablation | None = None
    card: Card
    cases: tuple[Case, ...]
    purged_cases: int = 0
    """Cases that `srlite purge` took out of `cases`. Figures and flow were worked out before, and still count them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    def json_text(self) -> str:
        """As it stands in evaluation.json."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"


SecondJudge.model_rebuild()


def read_evaluation(path: Path) -> Evaluation:
    """Raises InputError when the file is not there, or no evaluation of this version."""
    remedy = f"Make it anew: {to_evaluate(path.parent)}"
    try:
        return Evaluation.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"there is no evaluation: {error.strerror}", where=str(path), remedy=remedy) from None
    except ValidationError as error:
        first = error.errors()[0]
        said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(f"this is no evaluation that can be read: {said}", where=str(path), remedy=remedy) from None
