"""A slice of training on a card, with random weights of the true shapes: `bash tests/gpu/run.sh [--json FILE]`.

For each model and size of card: the process may take no more of the card than that (torch's fraction), the tower looks at a
clip, a batch of pairs is sampled, the judge has its turn, a group is learnt from, the optimiser steps. Peaks are those of the
allocator, beside the plan's (without its allowance for the driver); then tokens a second. All cases take some minutes.
Where TRL is installed in the same environment, a step of its trainer on the same model stands beside ours.
`--tiny` does the same with small shapes, on the CPU too (without peaks): it shows that the script runs.
Left out: sense (weights are noise), and what the training loop does around a slice.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from random_models import random_descriptor, random_judge  # noqa: E402
from trl_beside import Trl, installed, trl_step  # noqa: E402

from srlite.config import Settings, merged, settings_from  # noqa: E402
from srlite.descriptor.features import encode, tower_at_work  # noqa: E402
from srlite.descriptor.forward import read_prompt  # noqa: E402
from srlite.descriptor.generate import Ask, sample_groups  # noqa: E402
from srlite.descriptor.inputs import build_prompt  # noqa: E402
from srlite.descriptor.load import adapter_off, checkpointing, trainable  # noqa: E402
from srlite.descriptor.logprobs import answer_logprobs, gradient_through  # noqa: E402
from srlite.descriptor.parking import parked, parked_bytes  # noqa: E402
from srlite.device.budget import Models, budget  # noqa: E402
from srlite.device.halving import is_out_of_memory, portions  # noqa: E402
from srlite.device.memory import CONTEXT, Work  # noqa: E402
from srlite.device.turns import judge_turn  # noqa: E402
from srlite.judge.answers import Bands  # noqa: E402
from srlite.judge.canaries import ITEM  # noqa: E402
from srlite.judge.client import Judge, JudgeSettings, Request  # noqa: E402
from srlite.judge.questions import QUESTIONS  # noqa: E402
from srlite.models.registry import registry  # noqa: E402
from srlite.models.shapes import Shape, TextShape, VisionShape  # noqa: E402
from srlite.models.store import BUNDLED  # noqa: E402
from srlite.training.grpo import group_loss  # noqa: E402
from srlite.training.update import optimiser_for  # noqa: E402
from srlite.types import Frames  # noqa: E402

CASES = (("qwen2.5-vl-3b", 8), ("qwen3-vl-4b", 8), ("qwen3-vl-4b", 12), ("qwen3-vl-8b", 12), ("qwen3-vl-8b", 24))
FRAMES, TEXT_BYTES = 16, 900
GB = 10**9
TINY = Shape(
    TextShape(hidden=256, layers=2, heads=8, kv_heads=2, intermediate=768, vocabulary=2048, tied=True, head_dim=32),
    VisionShape(depth=2, hidden=128, intermediate=256, heads=4, patch=16, out=256, deepstack=1, positions=2304),
)


@dataclass
class Case:
    """One model on one size of card. Bytes and seconds by phase; `peaks` without the allowance for the driver."""

    model: str
    card_gb: int
    prompt_tokens: int
    turns: str
    planned: dict[str, int]
    peaks: dict[str, int]
    seconds: dict[str, float]
    tokens_a_second: dict[str, float]
    fault: str | None = None
    trl: Trl | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description="A slice on a card, with random weights of the true shapes.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    import torch

    on_card = torch.cuda.is_available()
    if not on_card and not args.tiny:
        raise SystemExit("There is no card. --tiny shows on the CPU that the script runs.")
    cases = [("tiny", 8)] if args.tiny else CASES
    with tempfile.TemporaryDirectory() as folder:
        found = [_case(name, gigabytes, Path(folder), on_card) for name, gigabytes in cases]
    document = {"schema": "srlite.gpu_slice/1", "card": torch.cuda.get_device_name(0) if on_card else None}
    document |= {"torch": torch.__version__, "cases": [asdict(case) for case in found]}
    if args.json:
        args.json.write_text(json.dumps(document, indent=1))
    _print(document)


def _case(name: str, gigabytes: int, folder: Path, on_card: bool) -> Case:
    import torch

    entry = None if name == "tiny" else registry().descriptors[name]
    shape, family = (entry.shape, entry.family) if entry else (TINY, "qwen3_vl")
    judge_name = "qwen3-4b" if gigabytes == 8 else "qwen3-8b"
    judge_text = registry().judges[judge_name].shape.text if entry else replace(TINY.text, vocabulary=1536)
    settings = _settings(entry is None)
    judge_path = folder / f"{judge_name if entry else 'tiny'}.gguf"
    if not judge_path.exists():
        random_judge(judge_text, judge_path, BUNDLED / "judge.gguf")
    models = Models(shape, judge_path.stat().st_size, judge_text)
    plan = budget(models, settings, text_bytes=TEXT_BYTES, card=gigabytes * GB)
    if on_card:
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(gigabytes * GB / torch.cuda.get_device_properties(0).total_memory)
    turns = "resident" if plan.plan.resident else "swapped"
    planned = {phase: peak - CONTEXT for phase, peak in plan.plan.peaks.items()}
    case = Case(name, gigabytes, plan.work.prompt, turns, planned, {}, {}, {})
    try:
        _slice(case, shape, family, settings, judge_path, plan, "cuda" if on_card else "cpu")
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        case.fault = str(error).splitlines()[0]
    if installed():
        case.trl = _beside(shape, family, settings, plan.work, "cuda" if on_card else "cpu")
    return case


def _beside(shape: Shape, family: str, settings: Settings, work: Work, device: str) -> Trl:
    """As many pictures as pairs of frames, of the same size: as many tokens of the prompt, but for a mark or two a picture."""
    side, text = _side(shape, settings), "x" * (TEXT_BYTES // 3)
    stills = settings.video.frames // 2
    return trl_step(shape, family, device, side=side, stills=stills, text=text, group=work.group, tokens=work.tokens)


def _side(shape: Shape, settings: Settings) -> int:
    multiple = 2 * shape.vision.patch
    return int(settings.video.max_pixels**0.5) // multiple * multiple


def _settings(tiny: bool) -> Settings:
    over: dict = {"models": {"quantise": True}, "video": {"frames": FRAMES}}
    if tiny:
        over = merged(over, {"video": {"max_pixels": 16384}, "sampling": {"max_new_tokens": 16, "group": 4, "pairs": 2}})
    return settings_from(over, where="tests/gpu")


def _slice(case: Case, shape: Shape, family: str, settings: Settings, judge_path: Path, plan, device: str) -> None:
    import numpy as np
    import torch

    work: Work = plan.work
    descriptor = random_descriptor(shape, family, device)
    optimiser = optimiser_for(descriptor, 1e-5)
    side = _side(shape, settings)
    images = np.random.default_rng(0).integers(0, 255, (settings.video.frames, side, side, 3), dtype=np.uint8)
    frames = Frames(images, tuple(i / 4 for i in range(len(images))), len(images) / 4, len(images))
    prompt = build_prompt(descriptor, frames, "x" * (TEXT_BYTES // 3), system=None)
    case.prompt_tokens = len(prompt.input_ids)
    with _phase(case, "look"), tower_at_work(descriptor):
        features = encode(descriptor, prompt)
    group, tokens = work.group, work.tokens
    with _phase(case, "sample"):
        asks = [Ask(prompt, features, tuple(range(i * group, (i + 1) * group))) for i in range(work.pairs)]
        groups = sample_groups(descriptor, asks, max_new_tokens=tokens, temperature=1.0, top_p=1.0)
    rollouts = groups[0]
    said = [r.tokens for r in rollouts]
    with _phase(case, "judge"):
        judged = _judge(judge_path, settings, plan, descriptor, [r.text for r in rollouts], device)
    with _phase(case, "reference"), torch.no_grad(), adapter_off(descriptor):
        reference = answer_logprobs(descriptor, read_prompt(descriptor, prompt, features), said)
    old = [torch.tensor(r.logprobs, device=device) for r in rollouts]
    saving = checkpointing(descriptor) if device == "cuda" else nullcontext()
    with _phase(case, "update"), saving, gradient_through(read_prompt(descriptor, prompt, features)) as read:
        for part in portions(range(group), work.portion):
            of = slice(part.start, part.stop)
            rows = answer_logprobs(descriptor, read, said[of])
            given = [float(i % 2) * 2 - 1 for i in part]
            how = dict(group=group, clip=0.2, beta=0.04, ratio="token")
            group_loss(rows, old[of], reference[of], given, [True] * len(part), **how).loss.backward()
    with _phase(case, "step"):
        torch.nn.utils.clip_grad_norm_([p for _, p in trainable(descriptor)], 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    counted = sum(len(s) for s in said)
    case.tokens_a_second = {
        "sample": sum(len(r.tokens) for g in groups for r in g) / case.seconds["sample"],
        "judge": judged / case.seconds["judge"],
        "update": counted / case.seconds["update"],
    }


def _judge(path: Path, settings: Settings, plan, descriptor, texts: list[str], device: str) -> int:
    """A turn of the judge on a group. Tokens evaluated."""
    import torch

    s = settings.judge
    how = JudgeSettings(
        path=path,
        sha256="0" * 64,
        family=None,
        threads=2,
        n_ctx=s.n_ctx,
        n_batch=s.n_batch,
        n_seq_max=s.n_seq_max,
        gpu_layers=-1 if device == "cuda" else 0,
        extra_buffers=False,
        bands={q.id: Bands(s.min_mass, s.threshold, s.unsure_band) for q in QUESTIONS},
        time_limit_s=s.limit_s,
        canaries=False,
    )
    with Judge(how, None) as judge:
        turn = nullcontext()
        if device == "cuda" and not plan.plan.resident:
            turn = judge_turn(
                judge,
                aside=parked(descriptor),
                free=lambda: torch.cuda.mem_get_info()[0],
                judge_bytes=plan.plan.judge.total,
                descriptor_bytes=parked_bytes(descriptor),
            )
        with turn:
            judge.ask([Request(ITEM, f"{i} {text}", tuple(q.id for q in QUESTIONS)) for i, text in enumerate(texts)])
        for note in judge.notes:
            print(note, file=sys.stderr)
        return judge.tokens_evaluated


@contextmanager
def _phase(case: Case, name: str) -> Iterator[None]:
    import torch

    on_card = torch.cuda.is_available()
    if on_card:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    yield
    if on_card:
        torch.cuda.synchronize()
        case.peaks[name] = torch.cuda.max_memory_allocated()
    case.seconds[name] = time.perf_counter() - began


def _print(document: dict) -> None:
    print(f"card: {document['card']}, torch {document['torch']}")
    for c in document["cases"]:
        print(
            f"\n{c['model']} on {c['card_gb']} GB, {c['turns']}, {c['prompt_tokens']} tokens a prompt"
            + (f": {c['fault']}" * bool(c["fault"]))
        )
        for phase, seconds in c["seconds"].items():
            peak = c["peaks"].get(phase)
            beside = f"  {peak / GB:6.2f} GB, planned {c['planned'][phase] / GB:6.2f}" if peak else ""
            speed = c["tokens_a_second"].get(phase)
            print(f"  {phase:10s} {seconds:8.2f} s{beside}" + (f"  {speed:8.1f} tokens/s" if speed else ""))
        if trl := c["trl"]:
            _print_trl(trl, ours=sum(c["seconds"].get(phase, 0.0) for phase in ("look", "reference", "update", "step")))


def _print_trl(trl: dict, *, ours: float) -> None:
    """ours: seconds of a pair's step without its sampling, which is of several pairs at once."""
    if trl["seconds"] is None:
        print(f"  TRL        {trl['fault']}")
        return
    peak = f"  {trl['peak'] / GB:6.2f} GB" if trl["peak"] else ""
    how = f"a whole step, {trl['batch']} completions at once; ours {ours:.2f} s and sampling"
    print(f"  TRL        {trl['seconds']:8.2f} s{peak}: {how}")


if __name__ == "__main__":
    main()
