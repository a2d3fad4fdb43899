"""The judge through its worker process: caching, crashes, limits, memory handed back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from srlite.errors import DeviceError, ModelError
from srlite.judge.answers import Bands
from srlite.judge.cache import VerdictCache
from srlite.judge.child import Child
from srlite.judge.client import Judge, JudgeSettings, Request
from srlite.judge.questions import QUESTIONS, REWORDED
from srlite.judge.rewording import comparing, writing
from srlite.judge.wire import LENGTH
from srlite.types import Item, Verdict

Make = Callable[..., JudgeSettings]
ALL = tuple(q.id for q in QUESTIONS)
TEXTS = [
    "The child walks backward.",
    "A screen hides the child. Unable to assess.",
    "The child stands still.",
]


def requests_for(item: Item, texts: list[str] = TEXTS) -> list[Request]:
    return [Request(item, text, ALL) for text in texts]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_verdict_for_every_question_of_every_request_in_order(settings: Make, walks: Item, pours: Item) -> None:
    mixed = [
        *requests_for(walks),
        Request(pours, TEXTS[0], ("met",)),
        Request(walks, TEXTS[1], ("met", "evidence")),
    ]
    with Judge(settings(), cache=None) as judge:
        verdicts = judge.ask(mixed)
        again = judge.ask(mixed[::-1])[::-1]
    assert [tuple(v) for v in verdicts] == [ALL, ALL, ALL, ("met",), ("met", "evidence")]
    assert all(0 <= v.probability <= 1 and 0 < v.mass <= 1 for row in verdicts for v in row.values())
    assert verdicts[4]["met"] == verdicts[1]["met"]
    assert verdicts[3]["met"] != verdicts[0]["met"]  # another item is another question
    for first, second in zip(verdicts, again, strict=True):
        for question in first:
            assert second[question].probability == pytest.approx(first[question].probability, abs=1e-3)
    assert judge.notes == ()


def test_identical_descriptions_are_evaluated_once(settings: Make, walks: Item) -> None:
    with Judge(settings(), cache=None) as judge:
        judge.ask(requests_for(walks, TEXTS[:1]))
        once = judge.tokens_evaluated
        judge.close()
        judge.ask(requests_for(walks, TEXTS[:1] * 16))
        assert judge.tokens_evaluated == 2 * once


def test_what_is_cached_needs_no_worker(settings: Make, walks: Item, tmp_path: Path) -> None:
    with VerdictCache(tmp_path / "v.sqlite", 1.0) as cache, Judge(settings(), cache) as judge:
        assert judge.worker_pid is None
        first = judge.ask(requests_for(walks))
        assert judge.worker_pid is not None
    with VerdictCache(tmp_path / "v.sqlite", 1.0) as cache, Judge(settings(), cache) as judge:
        second = judge.ask(requests_for(walks))
        assert judge.worker_pid is None
        assert judge.tokens_evaluated == 0
    for one, other in zip(first, second, strict=True):
        for question in ALL:
            assert other[question].answer == one[question].answer
            assert other[question].probability == pytest.approx(one[question].probability, abs=1e-12)


def test_the_cache_keeps_probabilities_so_bands_may_change(settings: Make, walks: Item, tmp_path: Path) -> None:
    strict = settings().bands | {"met": Bands(min_mass=1.0, threshold=0.5, unsure=0.0)}
    with VerdictCache(tmp_path / "v.sqlite", 1.0) as cache:
        with Judge(settings(bands=strict), cache) as judge:
            answers = {question: v.answer for question, v in judge.ask(requests_for(walks))[0].items()}
            assert [question for question in ALL if answers[question] == "unscored"] == ["met"]
        with Judge(settings(), cache) as judge:
            assert {v.answer for v in judge.ask(requests_for(walks))[0].values()} <= {"yes", "no"}
            assert judge.worker_pid is None


@pytest.mark.parametrize("text", ["", " ", "\n", ":", ".", "...", "\u200b", "!?"])
def test_a_description_without_a_word_is_no_to_everything_without_the_model(settings: Make, walks: Item, text: str) -> None:
    with Judge(settings(), cache=None) as judge:
        (verdicts,) = judge.ask([Request(walks, text, ALL)])
        assert set(verdicts.values()) == {Verdict("no", 0.0, 1.0)}
        assert judge.worker_pid is None


def test_a_description_longer_than_the_window_is_unscored_and_not_cached(settings: Make, walks: Item, tmp_path: Path) -> None:
    long = "word " * 3000
    with VerdictCache(tmp_path / "v.sqlite", 1.0) as cache:
        with Judge(settings(n_ctx=512), cache) as judge:
            verdicts = judge.ask(requests_for(walks, [long, TEXTS[0]]))
        assert set(verdicts[0].values()) == {Verdict.unscored()}
        assert all(v.mass > 0 for v in verdicts[1].values())
        with Judge(settings(n_ctx=512), cache) as judge:
            judge.ask(requests_for(walks, [TEXTS[0]]))
            assert judge.worker_pid is None
            judge.ask(requests_for(walks, [long]))
            assert judge.worker_pid is not None


def test_an_item_that_fills_the_window_is_an_error_and_the_judge_lives_on(settings: Make, walks: Item) -> None:
    with Judge(settings(n_ctx=512), cache=None) as judge:
        with pytest.raises(DeviceError, match="item 18_4: .*the item's text takes .* tokens of a window of 512"):
            judge.ask(requests_for(replace(walks, criterion="far too long " * 500)))
        assert len(judge.ask(requests_for(walks))) == 3


def test_a_killed_worker_is_started_again_once(settings: Make, walks: Item) -> None:
    with Judge(settings(), cache=None) as judge:
        first = judge.ask(requests_for(walks))
        os.kill(judge.worker_pid, signal.SIGKILL)
        assert judge.ask(requests_for(walks)) == first
        assert len(judge.notes) == 1
        assert "SIGKILL" in judge.notes[0]
        second_worker = judge.worker_pid
        os.kill(second_worker, signal.SIGILL)
        with pytest.raises(DeviceError, match="died by SIGILL") as caught:
            judge.ask(requests_for(walks))
        assert "GGML_NATIVE=OFF" in caught.value.remedy
        assert judge.worker_pid is None
        assert not is_running(second_worker)


def test_an_abort_in_the_middle_of_a_question_is_survived(settings: Make, walks: Item) -> None:
    with Judge(settings(), cache=None) as judge:
        first = judge.ask(requests_for(walks))
        pid = judge.worker_pid
        os.kill(pid, signal.SIGSTOP)  # so that the question is under way for certain
        abort = threading.Timer(0.3, lambda: (os.kill(pid, signal.SIGABRT), os.kill(pid, signal.SIGCONT)))
        abort.start()
        assert judge.ask(requests_for(walks)) == first
        abort.join()
        assert "SIGABRT" in judge.notes[0]


def test_a_worker_that_does_not_answer_is_stopped(settings: Make, walks: Item) -> None:
    with Judge(settings(), cache=None) as judge:
        judge.ask(requests_for(walks))
        pid = judge.worker_pid
        os.kill(pid, signal.SIGSTOP)
        judge.settings = settings(time_limit_s=0.2)
        with pytest.raises(DeviceError, match="within 0.2 seconds"):
            judge.ask(requests_for(walks, ["long " * 50_000]))  # larger than a pipe
        assert not is_running(pid)


def test_closing_hands_the_memory_back_and_a_later_question_starts_anew(settings: Make, walks: Item) -> None:
    judge = Judge(settings(), cache=None)
    judge.ask(requests_for(walks))
    pid = judge.worker_pid
    judge.close()
    judge.close()
    assert not is_running(pid)
    judge.ask(requests_for(walks))
    assert judge.worker_pid not in (None, pid)
    judge.close()


def test_the_worker_ends_when_its_client_is_killed(settings: Make, tiny) -> None:
    script = (
        "from srlite.judge.child import Child; from srlite.judge.wire import Load; import sys, time\n"
        "child = Child(1); child.exchange(Load(sys.argv[1], (), 512, 64, 16, 1, 0, False), 60.0)\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", script, str(tiny.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as client:
        pid = int(client.stdout.readline())
        client.kill()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_ctrl_c_leaves_no_worker_and_reaches_the_caller(settings: Make, walks: Item) -> None:
    with Judge(settings(), cache=None) as judge:
        judge.ask(requests_for(walks))
        pid = judge.worker_pid
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            judge.ask(requests_for(walks))
        assert not is_running(pid)


def test_a_file_that_llama_cpp_refuses_is_a_model_error_with_its_words(tiny, settings: Make, walks: Item) -> None:
    data = tiny.path.read_bytes().replace(b"blk.1.attn_norm.weight", b"blk.1.attn_narm.weight")
    broken = tiny.path.with_name("broken.gguf")
    broken.write_bytes(data)
    with Judge(settings(path=broken), cache=None) as judge:
        with pytest.raises(ModelError, match="llama.cpp could not load the file .its last words: ") as caught:
            judge.ask(requests_for(walks))
        assert caught.value.where == str(broken)
        assert judge.worker_pid is None


def test_a_bad_file_or_family_is_refused_before_any_question(tiny, settings: Make, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="qwen99"):
        Judge(
            settings(path=tiny.written(tmp_path / "n.gguf", architecture="qwen99")),
            cache=None,
        )
    with pytest.raises(ModelError, match="no judge template"):
        Judge(settings(family="llama"), cache=None)


def test_a_card_that_llama_cpp_cannot_use_is_said(settings: Make, walks: Item) -> None:
    with Judge(settings(gpu_layers=99), cache=None) as judge:
        judge.ask(requests_for(walks))
        import llama_cpp

        assert any("without support for a card" in note for note in judge.notes) != llama_cpp.llama_supports_gpu_offload()


@pytest.mark.parametrize(
    "changes",
    [
        {"n_seq_max": 7},
        {"n_seq_max": 257},
        {"n_seq_max": 64, "n_batch": 63},
        {"threads": 0},
        {"time_limit_s": 0.0},
        {"bands": {}},
    ],
)
def test_impossible_settings_are_refused(settings: Make, changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="n_seq_max|out of range|bands"):
        settings(**changes)


def test_an_unknown_question_is_a_mistake_of_the_caller(settings: Make, walks: Item) -> None:
    with Judge(settings(), cache=None) as judge, pytest.raises(KeyError):
        judge.ask([Request(walks, TEXTS[0], ("outcome",))])


def test_what_native_code_prints_stays_out_of_the_frames() -> None:
    script = (
        "import os; from srlite.judge.worker import private_pipes\n"
        "frames_in, frames_out = private_pipes()\n"
        "os.write(1, b'native noise'); print('python noise', flush=True)\n"
        "frames_out.write(frames_in.read(4))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], input=LENGTH.pack(7), capture_output=True, env=environment)
    assert done.stdout == LENGTH.pack(7)
    assert b"native noise" in done.stderr
    assert b"python noise" in done.stderr


def test_the_worker_never_imports_torch() -> None:
    script = "import srlite.judge.worker, sys; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "[]"


def test_nothing_in_the_working_directory_poses_as_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Make, walks: Item
) -> None:
    (tmp_path / "llama_cpp.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    with Judge(settings(), cache=None) as judge:
        assert len(judge.ask(requests_for(walks))) == 3


def test_a_process_id_is_that_of_a_child() -> None:
    child = Child(threads=1)
    assert is_running(child.pid)
    child.close()
    assert not is_running(child.pid)


def evaluated(cache: VerdictCache, settings: JudgeSettings, item: Item) -> int:
    """Tokens that the worker evaluates for the requests."""
    with Judge(settings, cache) as judge:
        judge.ask(requests_for(item))
        return judge.tokens_evaluated


def test_nothing_is_asked_twice_and_everything_anew_when_what_is_read_changes(
    tiny, settings: Make, walks: Item, tmp_path: Path
) -> None:
    other_bytes = tmp_path / "other.gguf"
    other_bytes.write_bytes(tiny.path.read_bytes() + b"\0")
    criterion = replace(walks, criterion="The child takes at least three steps backward.")
    with VerdictCache(tmp_path / "verdicts.sqlite", 5.0) as cache:
        all_of_them = evaluated(cache, settings(), walks)
        assert all_of_them > 0
        for _ in range(2):
            assert evaluated(cache, settings(), walks) == 0
        assert evaluated(cache, settings(path=other_bytes), walks) == all_of_them
        assert evaluated(cache, settings(), criterion) > 0
        assert evaluated(cache, settings(texts=REWORDED), walks) > 0
        for thought in (8, 9):  # the mode, and the room in it
            assert evaluated(cache, settings(thought=thought), walks) > all_of_them
            assert evaluated(cache, settings(thought=thought), walks) == 0
        assert evaluated(cache, settings(), walks) == 0


def test_a_judge_that_reasons_is_asked_in_two_turns(settings: Make, walks: Item) -> None:
    with Judge(settings(thought=8), cache=None) as judge:
        (reasoned, *_) = judge.ask(requests_for(walks))
    with Judge(settings(), cache=None) as judge:
        (direct, *_) = judge.ask(requests_for(walks))
    assert all(v.answer in ("yes", "no") for v in reasoned.values())
    assert {q: v.probability for q, v in reasoned.items()} != {q: v.probability for q, v in direct.items()}


def test_it_writes_paraphrases_and_compares_them(settings: Make, walks: Item) -> None:
    with Judge(settings(), cache=None) as judge:
        family = judge.family
        written = judge.put(writing(family, walks, count=3, most=12, temperature=1.0, seed=5), where=walks)
        again = judge.put(writing(family, walks, count=3, most=12, temperature=1.0, seed=6), where=walks)
        assert len(written.texts) == 3 and written.texts[1:] == again.texts[:2]
        scored = judge.put(comparing(family, walks, ["one", "two"]), where=walks)
        assert [len(row) for row in scored.masses] == [2, 2]
