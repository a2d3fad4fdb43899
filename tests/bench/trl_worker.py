"""TRL's GRPOTrainer on a CPU, one optimiser step a request: the other side of grpo_vs_trl.py.

    PYTHON_WITH_TRL tests/bench/trl_worker.py MODEL_FOLDER FRAMES.npy --group 16 --completion 32 --threads 2

Runs in an environment of its own (trl-requirements.txt) and imports nothing of srlite.
FRAMES.npy holds uint8 (clips, frames, side, side, 3); a clip becomes one prompt of `frames` still images and a text, because
this trainer takes no video. A step is one prompt and its group; clips come in their order, then again from the first.

Protocol, a line of JSON each on stdout (all that libraries print goes to stderr):
    -> {"ready": true, "prompt_tokens": P, "transformers": ..., "trl": ..., "torch": ...}
    <- step        one optimiser step; loading its images from the data set is not in its time
    -> {"seconds", "phases", "tower_seconds", "tokens", "vision_patches", "vision_calls", "vision_calls_with_grad",
        "completion_tokens"}
    <- stop        or the end of stdin: the process ends with 0; any other line: with 1
Phases, in seconds and in rows of the language model (batch x length, padding included):
    generate       the processor and the sampling
    score          the processor again, the reference's pass (the adapter off), rewards, advantages
    train          all the rest: the forward pass, the backward pass, the optimiser

Every setting is the cheapest that does the same work: one batch, no checkpointing, no old log-probabilities, no logging.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="GRPOTrainer of TRL, one optimiser step a request")
    parser.add_argument("model", help="folder of a Qwen-VL model with its processor and chat template")
    parser.add_argument("frames", help=".npy of uint8 (clips, frames, side, side, 3)")
    parser.add_argument("--text", default="Describe what the child does in this clip.")
    parser.add_argument("--group", type=int, default=16, help="completions of a prompt")
    parser.add_argument("--completion", type=int, default=32, help="tokens of a completion")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--beta", type=float, default=0.04, help="weight of the KL term; 0 leaves the reference out")
    parser.add_argument("--tower-no-grad", action="store_true", help="run the frozen vision tower without autograd")
    return parser.parse_args()


OPTIONS = read_options()  # before the imports, which read the environment
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK")
os.environ.update(dict.fromkeys(OFFLINE, "1"), CUDA_VISIBLE_DEVICES="", TOKENIZERS_PARALLELISM="false")
os.environ.update(OMP_NUM_THREADS=str(OPTIONS.threads), OMP_WAIT_POLICY="passive")
REPLIES = os.dup(1)  # the protocol's own stdout; what libraries print goes to stderr
os.dup2(2, 1)

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import trl  # noqa: E402
from datasets import Dataset  # noqa: E402
from peft import LoraConfig  # noqa: E402
from PIL import Image  # noqa: E402
from transformers import AutoModelForImageTextToText, AutoProcessor, TrainerCallback  # noqa: E402

# as srlite places its adapter: every projection of the language layers, none of the tower
TARGETS = r"model\.language_model\.layers\.\d+\.(self_attn\.[qkvo]_proj|mlp\.(gate|up|down)_proj)"


class Meter:
    """Counts one step. Time and tokens belong to the innermost phase that is open, else to training."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.seconds = dict.fromkeys(("generate", "score", "train"), 0.0)
        self.tokens = dict.fromkeys(self.seconds, 0)
        self.patches = self.calls = self.calls_with_grad = 0
        self.tower_seconds = 0.0
        self.completion_tokens: list[int] = []
        self.phase, self.since = "train", time.perf_counter()

    def enter(self, phase: str) -> str:
        """Go over to `phase`; returns the one that was open."""
        now = time.perf_counter()
        self.seconds[self.phase] += now - self.since
        left, self.phase, self.since = self.phase, phase, now
        return left

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        outer = self.enter(phase)
        try:
            yield
        finally:
            self.enter(outer)

    def end(self) -> dict:
        self.enter("train")
        return {
            "seconds": sum(self.seconds.values()),
            "phases": self.seconds,
            "tower_seconds": self.tower_seconds,
            "tokens": self.tokens,
            "vision_patches": self.patches,
            "vision_calls": self.calls,
            "vision_calls_with_grad": self.calls_with_grad,
            "completion_tokens": self.completion_tokens,
        }

    def watch(self, tower: torch.nn.Module, language_model: torch.nn.Module) -> None:
        tower.register_forward_pre_hook(self._tower_begins)
        tower.register_forward_hook(self._tower_ran)
        language_model.register_forward_hook(self._language_model_ran)

    def _tower_begins(self, _module, _arguments) -> None:
        self.tower_began = time.perf_counter()

    def _tower_ran(self, _module, arguments, output) -> None:
        self.tower_seconds += time.perf_counter() - self.tower_began
        self.calls += 1
        self.patches += arguments[0].shape[0]  # (patches, pixels of a patch)
        self.calls_with_grad += output.last_hidden_state.requires_grad

    def _language_model_ran(self, _module, _arguments, output) -> None:
        self.tokens[self.phase] += output.last_hidden_state.shape[:2].numel()  # (B, T, D)

    def reward(self, completion_ids: list[list[int]], **_) -> list[float]:
        """By the place in the group: deterministic, free, and never the same in a whole group."""
        self.completion_tokens = [len(ids) for ids in completion_ids]
        return [row % 4 / 3 for row in range(len(completion_ids))]


class MeasuredTrainer(trl.GRPOTrainer):
    """The trainer as it is, telling the meter where it is."""

    def __init__(self, **arguments) -> None:
        self.meter = Meter()
        super().__init__(reward_funcs=self.meter.reward, **arguments)

    def _generate(self, *arguments, **keywords):
        with self.meter.during("generate"):
            return super()._generate(*arguments, **keywords)

    def _generate_and_score_completions(self, *arguments, **keywords):
        with self.meter.during("score"):
            return super()._generate_and_score_completions(*arguments, **keywords)


class OnRequest(TrainerCallback):
    """Makes the trainer wait for a request before each step, and answers after it."""

    def __init__(self, meter: Meter, ready: dict) -> None:
        self.meter, self.ready = meter, ready

    def on_train_begin(self, *_, **__) -> None:
        reply(self.ready)

    def on_step_begin(self, *_, **__) -> None:  # the images are loaded, nothing else of the step is done
        request = sys.stdin.readline().strip()
        if request in ("", "stop"):
            raise SystemExit(0)
        if request != "step":
            raise SystemExit(f"expected step or stop, got {request!r}")
        self.meter.begin()

    def on_step_end(self, *_, **__) -> None:  # after the optimiser
        reply(self.meter.end())


def reply(record: dict) -> None:
    os.write(REPLIES, (json.dumps(record) + "\n").encode())


def prompts_of(path: str, text: str) -> list[dict]:
    """One row a clip: the frames as still images, then the text."""
    clips = np.load(path)  # (clips, frames, side, side, 3)
    content = [{"type": "image"}] * clips.shape[1] + [{"type": "text", "text": text}]
    return [
        {"prompt": [{"role": "user", "content": content}], "images": [Image.fromarray(frame) for frame in clip]}
        for clip in clips
    ]


def prompt_length(processor, row: dict) -> int:
    text = processor.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=False)
    return processor(text=[text], images=[row["images"]], return_tensors="pt")["input_ids"].shape[1]


def never_sampled(processor, rows: int) -> list[int]:
    """Special tokens and rows without a token: a vision mark in a completion would ask for another image."""
    tokenizer = processor.tokenizer
    return sorted(set(tokenizer.added_tokens_decoder) | set(range(len(tokenizer), rows)))


def settings(folder: str, suppressed: list[int]) -> trl.GRPOConfig:
    return trl.GRPOConfig(
        output_dir=folder,
        use_cpu=True,
        bf16=False,
        seed=OPTIONS.seed,
        max_steps=1_000_000,  # the requests end it
        shuffle_dataset=False,
        num_generations=OPTIONS.group,
        per_device_train_batch_size=OPTIONS.group,
        gradient_accumulation_steps=1,
        gradient_checkpointing=False,
        num_iterations=1,
        max_completion_length=OPTIONS.completion,
        generation_kwargs={"min_new_tokens": OPTIONS.completion, "suppress_tokens": suppressed},
        temperature=1.0,
        beta=OPTIONS.beta,
        loss_type="dr_grpo",
        scale_rewards="none",
        learning_rate=1e-5,
        lr_scheduler_type="constant",
        dataloader_pin_memory=False,
        report_to="none",
        logging_strategy="no",
        save_strategy="no",
        disable_tqdm=True,
    )


def build(folder: str) -> MeasuredTrainer:
    """The trainer, ready to train, with its adapter on the language layers only."""
    processor = AutoProcessor.from_pretrained(OPTIONS.model)
    model = AutoModelForImageTextToText.from_pretrained(OPTIONS.model, dtype=torch.float32)
    rows = prompts_of(OPTIONS.frames, OPTIONS.text)
    trainer = MeasuredTrainer(
        model=model,
        args=settings(folder, never_sampled(processor, model.config.text_config.vocab_size)),
        train_dataset=Dataset.from_list(rows),
        processing_class=processor,
        peft_config=LoraConfig(r=16, lora_alpha=32, lora_dropout=0.0, bias="none", target_modules=TARGETS),
    )
    learnt = [name for name, parameter in trainer.model.named_parameters() if parameter.requires_grad]
    assert learnt and all(".language_model." in name for name in learnt), "the adapter is not on the language layers alone"
    core = trainer.model.get_base_model().model
    if OPTIONS.tower_no_grad:
        core.visual.forward = torch.no_grad()(core.visual.forward)
    trainer.meter.watch(core.visual, core.language_model)
    versions = {module.__name__: module.__version__ for module in (transformers, trl, torch)}
    ready = {"ready": True, "prompt_tokens": prompt_length(processor, rows[0]), **versions}
    trainer.add_callback(OnRequest(trainer.meter, ready))
    return trainer


def main() -> None:
    torch.set_num_threads(OPTIONS.threads)
    transformers.set_seed(OPTIONS.seed)
    with tempfile.TemporaryDirectory() as folder:
        build(folder).train()


if __name__ == "__main__":
    main()
