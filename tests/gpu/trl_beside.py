"""A step of TRL's GRPOTrainer on the same random model and as many pictures, where TRL is installed beside srlite.

As people run it on a small card: 4 bit, bfloat16, gradient checkpointing, the completions of a prompt in batches as large as
fit into memory; generous: its frozen tower under no_grad, no old log-probabilities, a free reward.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec

from random_models import random_descriptor

from srlite.device.halving import is_out_of_memory
from srlite.models.shapes import Shape

# by type alone: a data set gives every part the keys of all parts
TEMPLATE = (
    "{%- for message in messages -%}<|im_start|>{{ message['role'] }}\n{%- for part in message['content'] -%}"
    "{%- if part['type'] == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ part['text'] }}{%- endif -%}"
    "{%- endfor -%}<|im_end|>\n{% endfor -%}{%- if add_generation_prompt -%}<|im_start|>assistant\n{% endif -%}"
)


@dataclass
class Trl:
    """A step of one prompt and its group, the second of two. batch: completions at once; fault: why there is no figure."""

    batch: int
    seconds: float | None = None
    peak: int | None = None
    fault: str | None = None


def installed() -> bool:
    return find_spec("trl") is not None


def trl_step(shape: Shape, family: str, device: str, *, side: int, stills: int, text: str, group: int, tokens: int) -> Trl:
    """Batches of the whole group, of a quarter, of one: the first that fits. stills: pictures of `side` by `side`."""
    for batch in dict.fromkeys((group, max(1, group // 4), 1)):
        found = Trl(batch)
        try:
            _measure(found, shape, family, device, side=side, stills=stills, text=text, group=group, tokens=tokens)
            return found
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            found.fault = str(error).splitlines()[0]
    return found


def _measure(
    found: Trl, shape: Shape, family: str, device: str, *, side: int, stills: int, text: str, group: int, tokens: int
) -> None:
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    on_card = device == "cuda"

    class Watch(TrainerCallback):
        def on_step_begin(self, *_, **__) -> None:
            if on_card:
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            self.began = time.perf_counter()

        def on_step_end(self, *_, **__) -> None:
            if on_card:
                torch.cuda.synchronize()
                found.peak = torch.cuda.max_memory_allocated()
            found.seconds = time.perf_counter() - self.began

    descriptor = random_descriptor(shape, family, device)
    model, processor = descriptor.model, descriptor.processor
    core = descriptor.core
    core.language_model.config._attn_implementation = "sdpa"  # srlite's own wants a memory
    core.visual.to(device)
    core.visual.forward = torch.no_grad()(core.visual.forward)
    processor.chat_template = processor.tokenizer.chat_template = TEMPLATE
    processor.tokenizer.padding_side = "left"
    special = set(processor.tokenizer.added_tokens_decoder) | set(range(len(processor.tokenizer), shape.text.vocabulary))
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=lambda completion_ids, **_: [row % 4 / 3 for row in range(len(completion_ids))],
            args=GRPOConfig(
                output_dir=folder,
                use_cpu=not on_card,
                bf16=on_card,
                max_steps=2,
                num_generations=group,
                per_device_train_batch_size=found.batch,
                gradient_accumulation_steps=group // found.batch,
                gradient_checkpointing=True,
                max_completion_length=tokens,
                generation_kwargs={"min_new_tokens": tokens, "suppress_tokens": sorted(special)},
                beta=0.04,
                report_to="none",
                logging_strategy="no",
                save_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(_prompts(side, stills, text)),
            processing_class=processor,
            callbacks=[Watch()],
        )
        trainer.train()


def _prompts(side: int, stills: int, text: str) -> list[dict]:
    """Two, so that the second step looks at a clip that was not seen."""
    import numpy as np
    from PIL import Image

    content = [{"type": "image"}] * stills + [{"type": "text", "text": text}]
    pictures = np.random.default_rng(0).integers(0, 255, (2, stills, side, side, 3), dtype=np.uint8)
    return [{"prompt": [{"role": "user", "content": content}], "images": [*map(Image.fromarray, clip)]} for clip in pictures]
