"""Remake both tiny models and all figures: `python -m srlite.demo.make --work FOLDER [--only descriptor|judge|figures]`.

    tower     the vision tower learns to see                                    tower.py
    language  the language model learns to say what is seen: the ceiling        language.py
    bias      it learns the faults of a real model: the base                    examples.py
    judge     the judge learns the six questions from generated texts           judge.py
    samples   the base and the ceiling describe clips, at temperature 1
    second    the judge learns from those samples too; written as GGUF          gguf_file.py
    figures   base, ceiling, and adapters of three seeds on fresh children      figures.py

Each stage goes on from its last checkpoint and is skipped when it is done. Folders carry a hash of the texts that the stage
reads (prompts, catalogue, grammar; for the judge also the questions), so a changed text makes anew what depends on it.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch

from srlite.demo.make import architecture as arch
from srlite.demo.make.data import Clips, load_clips
from srlite.demo.make.examples import biased_example, true_example
from srlite.demo.make.figures import figures
from srlite.demo.make.gguf_file import write_gguf
from srlite.demo.make.judge import RECIPE, SECOND, Rows, generated, train_judge
from srlite.demo.make.language import BIAS, LANGUAGE, Features, Writer, tower_features, train_language
from srlite.demo.make.samples import judge_text_of, load_samples
from srlite.demo.make.tokenizer import descriptor_texts, load_tokenizer, make_tokenizer, save_processor
from srlite.demo.make.tower import train_tower
from srlite.judge.questions import questions_hash
from srlite.models.store import BUNDLED
from srlite.records.catalogue import Catalogue
from srlite.records.dataset import catalogue_of

CLIPS = 16000
CLIPS_SEED = 7


@dataclass(frozen=True)
class Kitchen:
    """What all stages share."""

    work: Path
    catalogue: Catalogue

    def folder(self, stage: str) -> Path:
        if stage == "tower":
            return self.work / stage
        texts = [
            *descriptor_texts(self.catalogue),
            *([questions_hash()] if stage in ("judge", "second") else []),
        ]
        digest = hashlib.sha256("\x1f".join(texts).encode()).hexdigest()
        return self.work / f"{stage}-{digest[:8]}"

    @property
    def processor(self) -> Path:
        return self.folder("processor")

    def clips(self) -> Clips:
        return load_clips(self.work, CLIPS, CLIPS_SEED)

    def tokenizer(self):
        if not self.processor.exists():
            save_processor(make_tokenizer(self.catalogue), self.processor)
        return load_tokenizer(self.processor)


def make_descriptor(k: Kitchen) -> None:
    """Tower, language, bias. The ceiling stays in the work folder, the base goes into the package."""
    clips, tokenizer = k.clips(), k.tokenizer()
    seeing = train_tower(k.folder("tower"), clips)
    torch.manual_seed(0)
    model = arch.descriptor(tokenizer)
    model.model.visual.load_state_dict({n: w.float() for n, w in seeing.items()})
    features: Features = tower_features(k.folder("tower"), model.model.visual, clips)
    writer = Writer(tokenizer, k.catalogue)
    train_language(k.folder("language"), model, LANGUAGE, clips, features, writer, true_example, head=True)
    save_model(model, k, k.folder("ceiling"))
    train_language(k.folder("bias"), model, BIAS, clips, features, writer, biased_example, head=False)
    save_model(model, k, BUNDLED / "descriptor")


def save_model(model, k: Kitchen, folder: Path) -> None:
    """bfloat16 safetensors and the processor, as the descriptor room loads them."""
    shutil.rmtree(folder, ignore_errors=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    shutil.copytree(k.processor, folder, dirs_exist_ok=True)


def make_judge(k: Kitchen) -> None:
    """First on generated texts; then, once the descriptor is there, on its samples as well."""
    torch.manual_seed(0)
    tokenizer = k.tokenizer()
    model, rows = arch.judge(tokenizer), Rows(tokenizer, k.catalogue)
    train_judge(k.folder("judge"), model, RECIPE, rows, generated)
    if not k.folder("ceiling").exists() or not (BUNDLED / "descriptor").exists():
        print("the judge's second stage needs the descriptor: make that first")
        return
    samples = load_samples(k.folder("samples"), k.catalogue, {"base": BUNDLED / "descriptor", "ceiling": k.folder("ceiling")})
    train_judge(k.folder("second"), model, SECOND, rows, judge_text_of(samples))
    write_gguf(model.float(), tokenizer, BUNDLED / "judge.gguf")


def main() -> None:
    parser = argparse.ArgumentParser(description="Remake the bundled tiny models.")
    parser.add_argument("--work", type=Path, required=True, help="for renderings and checkpoints (8 GB)")
    parser.add_argument("--only", choices=("descriptor", "judge", "figures"))
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    k = Kitchen(args.work, catalogue_of(None))
    wanted = (args.only,) if args.only else ("descriptor", "judge", "figures")
    if "descriptor" in wanted:
        make_descriptor(k)
    if "judge" in wanted:
        make_judge(k)
    if "figures" in wanted:
        print(figures(args.work, k.folder("ceiling")))


if __name__ == "__main__":
    main()
