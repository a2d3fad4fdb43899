"""A child is forgotten everywhere, and nobody else."""

import csv
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import unicodedata
from dataclasses import replace

import pytest
from kept_run import CHILD, CLIPS, MINE, RENAMED, SPELT, case, contents, evaluation, plain, records, sha256, write_run

import srlite
from srlite.errors import InputError, UsageError
from srlite.evaluation.document import read_evaluation
from srlite.files import append_private, file_sha256
from srlite.purging.job import purge_json, runs_under, survey
from srlite.records.split import saved_split
from srlite.report.collect import collect
from srlite.reviews.log import read_log
from srlite.training.owner import sole_owner
from srlite.training.rollouts import groups_so_far, read_groups, read_rewards
from srlite.training.run import Run, take_up

NAMES = {CHILD, *MINE, *(clip.rpartition("/")[2] for clip in MINE), *(sha256(clip) for clip in MINE)}


def naming(folder, names=NAMES):
    """Files that hold one of the names, however it is spelt or escaped, in their text or their own name."""
    found = []
    for name, data in contents(folder).items():
        text = data.decode("utf-8", errors="replace")
        escaped = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text)
        ways = (text, escaped, text.replace('""', '"'), name)
        # a child 17 is not in 170: the id counts as a word
        if any(f"{plain(n)}" in plain(way).replace(plain("Zoë-170"), "") for n in names for way in ways):
            found.append(name)
    return found


def runs(clinic):
    return runs_under(clinic / "runs")


@pytest.mark.parametrize("spelling", [CHILD, SPELT, "zoë-17 ", "ZOË-17"])
def test_no_file_names_the_child_any_more(clinic, home, spelling):
    assert {"runs/a/split.csv", "runs/b/evaluation.json", "runs/c/clips.json"} <= set(naming(clinic))
    found = srlite.purge(spelling, runs=runs(clinic))
    assert naming(clinic / "runs") == [] == naming(home)
    assert [run.folder.name for run in found.runs] == ["a", "b", "c"]
    assert RENAMED[MINE[1]] not in (clinic / "runs" / "c" / "split.csv").read_text()
    assert not list((home / "cache" / "frames" / "12").iterdir())


def test_everybody_else_is_whole(clinic, home):
    before, kept = (
        contents(clinic),
        {name: data for name, data in contents(home).items() if not any(sha256(c) in name for c in MINE)},
    )
    others = {clip for clip in CLIPS if clip not in MINE}
    srlite.purge(CHILD, runs=runs(clinic))
    after = contents(clinic)
    kept.pop(f"cache/frames/12/{'12' * 32}.npz")
    assert contents(home) == kept
    assert {n: d for n, d in after.items() if n.startswith(("runs/d", "data"))} == {
        n: d for n, d in before.items() if n.startswith(("runs/d", "data"))
    }
    for name in ("a", "b", "c"):
        run = clinic / "runs" / name
        assert not (run / "report.html").exists() and (run / "adapter" / "adapter_model.safetensors").read_bytes() == b"weights"
        assert (run / "metrics.jsonl").read_bytes() == before[f"runs/{name}/metrics.jsonl"]
        split, expected = saved_split(run / "split.csv"), records()
        rows = {(r.clip, r.item) for side in (split.train, split.validation, split.test) for r in side}
        assert rows <= {(r.clip, r.item) for r in expected if r.clip in others}
        assert json.loads((run / "clips.json").read_text()).keys() == {clip for clip, _ in rows}
    a = clinic / "runs" / "a" / "rounds" / "001"
    assert [g.pair.clip for g in read_groups(a / "0001" / "rollouts.jsonl")] == ["a1.mp4", "a1.mp4"]
    assert [r[0].total for r in read_rewards(a / "0001" / "rewards.jsonl")] == [
        4.0,
        5.0,
    ]  # the fifth and sixth, whose groups stay
    assert not (a / "0001" / "rewards.purged.jsonl").exists()
    assert [g.pair.clip for g in groups_so_far(a / "0002" / "rollouts.jsonl")] == ["a1.mp4", "a1.mp4"]
    log = (clinic / "runs" / "a" / "log.txt").read_text()
    assert log == "the adapter sits on 7 modules\nchild ids taken as one child: C1 = c1\na last line\n"


def test_cases_and_reviews_of_the_child_go_and_the_chain_holds(clinic):
    b = clinic / "runs" / "b"
    before, log = read_evaluation(b / "evaluation.json"), read_log(b / "reviews.jsonl")
    srlite.purge(CHILD, runs=runs(clinic))
    after, chain = read_evaluation(b / "evaluation.json"), read_log(b / "reviews.jsonl")
    assert after.cases == before.cases[4:] and len(after.cases) == 1 and after.purged_cases == 4
    assert after.flow == before.flow and after.arms == before.arms
    assert (chain.lines, chain.purged, chain.head) == (log.lines, 4, log.head)
    assert chain.entries == log.entries[4:]
    assert read_log(clinic / "runs" / "a" / "reviews.jsonl").purged == 1  # a note on another child that names this one


def test_a_report_made_afterwards_says_so(clinic):
    srlite.purge(CHILD, runs=runs(clinic))
    tested, trained, other = (" ".join(collect(clinic / "runs" / name).missing) for name in ("b", "a", "d"))
    assert "4 test pairs were purged after the evaluation. The figures below still count them" in tested
    assert "Records were purged" in tested and "cannot forget" not in tested
    assert "cannot forget" in trained and "test pairs" not in trained and "purged" not in other


def test_an_unreadable_clip_of_the_child_is_not_told_of_any_more(clinic):
    path = clinic / "runs" / "b" / "evaluation.json"
    reasons = [f"{MINE[0]}: damaged", "a1.mp4: damaged"]
    path.write_text(evaluation("b", [case(records()[4])], unreadable=reasons).json_text(), encoding="utf-8")
    srlite.purge(CHILD, runs=runs(clinic))
    assert read_evaluation(path).unreadable == ("a1.mp4: damaged",)


def test_an_evaluation_that_cannot_be_read_goes_as_a_whole(clinic):
    (clinic / "runs" / "b" / "evaluation.json").write_text('{"schema": "srlite.evaluation/0"}')
    srlite.purge(CHILD, runs=runs(clinic))
    assert not (clinic / "runs" / "b" / "evaluation.json").exists()


def test_it_says_who_cannot_forget(clinic):
    document = purge_json(survey(CHILD, runs=runs(clinic)), done=False)
    assert document["schema"] == "srlite.purge/1" and document["done"] is False
    assert {r["run"].rpartition("/")[2]: (r["sides"], r["trained"]) for r in document["runs"]} == {
        "a": (["train"], True),
        "b": (["test"], False),
        "c": (["train"], True),
    }
    cannot = [note for note in document["notes"] if "cannot forget" in note]
    assert len(cannot) == 2 and all("Train anew without the child's rows" in note for note in cannot)
    assert any("items.csv are not touched" in note for note in document["notes"])
    removed = {(r["file"].rpartition("/")[2], r["what"]): r["count"] for r in document["removed"] if "/a/" in r["file"]}
    assert removed[("split.csv", "rows")] == 4 and removed[("log.txt", "lines")] == 3 and removed[("clips.json", "clips")] == 2
    assert removed[("rounds", "groups of rewards")] == 4 and removed[("rounds", "kept features")] == 2
    assert removed[("rounds", "groups of descriptions")] == 4 + 4 + 1  # a slice, and one that was cut off in a line
    frames = {(r["file"].rpartition("/")[2], r["what"]): r["count"] for r in document["removed"] if "/cache/" in r["file"]}
    assert frames == {
        ("frames", "kept files"): 4,
        ("features", "kept files"): 2,
        ("frames", "kept files of an older version"): 1,
    }


@pytest.mark.parametrize("spelling", [CHILD, SPELT, "ZOË-17"])
def test_ids_are_told_as_the_data_write_them(clinic, spelling):
    assert purge_json(survey(spelling, runs=runs(clinic)), done=False)["child"] == CHILD
    with pytest.raises(InputError) as caught:
        survey("zoë-171", runs=runs(clinic))
    assert caught.value.remedy.startswith("Near it: Zoë-17") and "zoë" not in caught.value.remedy


def test_a_run_that_lost_records_cannot_be_resumed_in_silence(clinic):
    a = Run(clinic / "runs" / "a")
    everyone, left = records(), [r for r in records() if r.clip not in MINE]
    assert take_up(a.folder, a.catalogue(), everyone)[1].train
    srlite.purge(CHILD, runs=runs(clinic))
    for given in (everyone, left):
        with pytest.raises(InputError, match="records were purged from this run on 2") as caught:
            take_up(a.folder, a.catalogue(), given)
        assert "new run" in caught.value.remedy
    assert {r.clip for r in a.split(left).train} == {"a1.mp4"}  # what is left can be evaluated
    with pytest.raises(InputError, match="new since the split was made") as caught:
        a.split(everyone)
    assert "srlite purge" in caught.value.remedy and "items.csv" in caught.value.remedy
    mark = json.loads((a.folder / "purged.json").read_text())
    assert mark["trained"] is True and len(mark["days"]) == 1
    assert json.loads((clinic / "runs" / "b" / "purged.json").read_text())["trained"] is False
    assert not (clinic / "runs" / "d" / "purged.json").exists()


def test_two_children_one_after_the_other(clinic):
    srlite.purge(CHILD, runs=runs(clinic))
    srlite.purge("c1", runs=runs(clinic))
    assert naming(clinic / "runs", NAMES | {"a1.mp4", "a2.mp4", sha256("a1.mp4")}) == []
    assert {r.clip for r in saved_split(clinic / "runs" / "d" / "split.csv").train} == set()
    with pytest.raises(InputError, match="there is no child 'c1'"):
        srlite.purge("c1", runs=runs(clinic))


@pytest.mark.parametrize("pruned", [False, True], ids=["before the rollouts", "behind them"])
def test_another_child_after_a_killed_purge_keeps_rewards_beside_their_groups(tmp_path, home, pruned):
    """As a purge of Zoë-17 leaves it that was killed between the two files of a slice; a group's first reward is its number."""
    run = write_run(tmp_path / "three", records(), [], [])
    first = run / "rounds" / "001" / "0001"
    clips = [g.pair.clip for g in read_groups(first / "rollouts.jsonl")]
    rollouts, rewards = (
        "".join(line for line, clip in zip((first / name).open(), clips, strict=True) if clip not in MINE)
        for name in ("rollouts.jsonl", "rewards.jsonl")
    )
    (first / "rewards.purged.jsonl").write_text(rewards)
    if pruned:
        (first / "rollouts.jsonl").write_text(rollouts)
    srlite.purge("C1", runs=[run])
    groups, scores = read_groups(first / "rollouts.jsonl"), read_rewards(first / "rewards.jsonl")
    left = [(group.pair.clip, score[0].total) for group, score in zip(groups, scores, strict=True)]
    stays = ("b1.mp4", "b2.mp4", *(() if pruned else MINE))
    assert left == [(clip, float(i)) for i, clip in enumerate(clips) if clip in stays]
    assert len(left) == (4 if pruned else 8) and not (first / "rewards.purged.jsonl").exists()


def test_an_unknown_child_is_named_with_those_near_it(clinic, home):
    before = contents(clinic) | contents(home)
    with pytest.raises(InputError, match="there is no child 'Zoe-017' in 4 runs") as caught:
        srlite.purge("Zoe-017", runs=runs(clinic))
    assert "Zoë-17" in unicodedata.normalize("NFC", caught.value.remedy) and caught.value.exit_code == 3
    with pytest.raises(InputError) as caught:
        srlite.purge("C-1", runs=runs(clinic))
    assert caught.value.remedy == "Near it: C1."
    with pytest.raises(InputError, match="in 0 runs") as caught:
        srlite.purge("C1", runs=())
    assert "--items-csv" in caught.value.remedy
    assert contents(clinic) | contents(home) == before


def test_records_and_videos_tell_of_clips_that_no_run_has(clinic, home):
    """Assessed clips leave frames; only the clinic's own files say whose they are. A run without children is found by names."""
    data = clinic / "data"
    with pytest.raises(UsageError, match="which of the videos"):
        survey(CHILD, runs=(), videos=data / "videos")
    blind = survey(CHILD, runs=(), items_csv=data / "items.csv")
    assert blind.kept == () and any("the bytes of 2 of the child's clips are not known" in note for note in blind.notes)
    seen = survey(CHILD, runs=[clinic / "runs" / "c"], items_csv=data / "items.csv", videos=data / "videos")
    assert len(seen.kept) == 6 and not any("not known here" in note for note in seen.notes if "bytes" in note)
    assert seen.runs[0].whom.clips == {RENAMED[MINE[1]]}
    srlite.purge(CHILD, runs=(), items_csv=data / "items.csv", videos=data / "videos")
    assert naming(home) == [] and (data / "videos" / MINE[0]).is_file()


def test_another_file_of_the_same_name_is_somebody_else(clinic, tmp_path):
    """A run of another clinic, which names no child, has a clip of the same name."""
    other = [r for r in records(named=False) if r.clip == MINE[1]]
    run = write_run(tmp_path / "other", other, [], [])
    hashes = (run / "clips.json").read_text().replace(sha256(MINE[1]), "0" * 64)
    (run / "clips.json").write_text(hashes)
    data = clinic / "data"
    assert not survey(CHILD, runs=[run], items_csv=data / "items.csv", videos=data / "videos").runs
    assert survey(CHILD, runs=[run], items_csv=data / "items.csv").runs  # without the videos the name is all there is


def test_the_same_clip_under_another_id_is_told(clinic, tmp_path):
    rows = [r for r in records() if r.clip == MINE[1]]
    run = write_run(tmp_path / "renamed", [replace(r, child="pseudonym") for r in rows], [], [])
    found = srlite.purge(CHILD, runs=[*runs(clinic), run])
    assert any("'pseudonym'" in note and str(run) in note for note in found.notes)
    assert MINE[1] not in (run / "split.csv").read_text()


def test_an_id_that_is_a_number_is_not_looked_for_in_prose(tmp_path, home):
    """A child 7, and steps numbered 7."""
    rows = [replace(r, child={"a1.mp4": "7", "a2.mp4": "17"}.get(r.clip, "9")) for r in records()]
    run = write_run(tmp_path / "n", rows, [], [], log=("child ids that look alike: 007 / 7", "17 clips"))
    (run / "mine.txt").write_text("7 steps")
    srlite.purge("7", runs=[run])
    log = (run / "log.txt").read_text()
    assert "look alike" not in log and "17 clips" in log and (run / "mine.txt").exists()
    assert {g.pair.child for g in read_groups(run / "rounds" / "001" / "0001" / "rollouts.jsonl")} == {"17", "9"}


def test_a_run_that_a_process_works_in_is_refused_before_anything_is_removed(clinic, home, run_cli):
    before = contents(clinic) | contents(home)
    with sole_owner(clinic / "runs" / "b"):
        found = run_cli("purge", "--child", CHILD, "--yes", cwd=clinic)
        (clinic / "runs" / "b" / ".owner").rename(clinic / "kept-owner")
    assert found.returncode == 2 and "another process is at work" in " ".join(found.stderr.split())
    (clinic / "kept-owner").unlink()
    assert contents(clinic) | contents(home) == before
    with sole_owner(clinic / "runs" / "d"):  # this one does not know the child
        assert run_cli("purge", "--child", CHILD, "--yes", cwd=clinic).returncode == 0


def test_a_damaged_run_is_refused_before_anything_is_removed(clinic, home):
    path = clinic / "runs" / "b" / "rounds" / "001" / "0001" / "rollouts.jsonl"
    path.write_text("{\n" + path.read_text())
    before = contents(clinic) | contents(home)
    with pytest.raises(InputError, match="cannot be read") as caught:
        srlite.purge(CHILD, runs=runs(clinic))
    assert caught.value.where == str(path)
    assert {n: d for n, d in (contents(clinic) | contents(home)).items()} == before


def test_the_command_lists_first_and_removes_only_when_told(clinic, home, run_cli):
    before = contents(clinic) | contents(home)
    dry = run_cli("purge", "--child", SPELT, "--dry-run", "--json", cwd=clinic)
    assert dry.returncode == 0, dry.stderr
    refused = run_cli("purge", "--child", CHILD, cwd=clinic)
    assert refused.returncode == 2 and "--dry-run" in refused.stderr and "--yes" in refused.stderr and refused.stdout == ""
    assert run_cli("purge", "--child", CHILD, "--json", cwd=clinic).returncode == 2
    unknown = run_cli("purge", "--child", "zoé-17", "--yes", cwd=clinic)
    assert unknown.returncode == 3 and "Near it" in unknown.stderr
    nowhere = run_cli("purge", "--child", CHILD, "--run", clinic / "data", "--yes", cwd=clinic)
    assert nowhere.returncode == 3 and "there is no run here" in " ".join(nowhere.stderr.split())
    assert contents(clinic) | contents(home) == before
    done = run_cli("purge", "--child", SPELT, "--yes", "--json", cwd=clinic)
    assert done.returncode == 0, done.stderr
    listed, removed = json.loads(dry.stdout), json.loads(done.stdout)
    assert removed["done"] is True and removed["removed"] == listed["removed"] and removed["schema"] == "srlite.purge/1"
    assert naming(clinic / "runs") == [] == naming(home)
    gone = run_cli("purge", "--child", CHILD, "--yes", cwd=clinic)
    assert gone.returncode == 3


def test_files_of_others_in_a_run_are_told_and_left(clinic, run_cli):
    (clinic / "runs" / "a" / "thesis.txt").write_text(f"What {CHILD} did.")
    (clinic / "runs" / "b" / "thesis.txt").write_text("What Zoë-170 did.")
    found = run_cli("purge", "--child", CHILD, "--yes", cwd=clinic, env={"COLUMNS": "200"})
    assert found.returncode == 6 and "runs/a/thesis.txt names the child" in found.stdout
    assert "runs/b/thesis.txt" not in found.stdout
    assert (clinic / "runs" / "a" / "thesis.txt").exists()
    assert "cannot forget" in found.stdout and "runs/d" not in found.stdout


@pytest.mark.parametrize("answer", ["n", "y", ""])
def test_on_a_terminal_it_asks(clinic, home, answer):
    before = contents(clinic) | contents(home)
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "srlite.cli", "purge", "--child", CHILD],
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=clinic,
        env={**os.environ, "SRLITE_HOME": str(home), "COLUMNS": "200"},
    )
    os.close(follower)
    os.write(leader, f"{answer}\n".encode())
    said, asked = child.communicate(timeout=120)
    os.close(leader)
    assert child.returncode == 0 and "for good?" in asked, asked
    assert "to be removed" in said and ("Child Zoë-17: removed" in said) == (answer == "y")
    assert (naming(clinic / "runs") == []) == (answer == "y")
    if answer != "y":
        assert "nothing was removed" in asked and contents(clinic) | contents(home) == before


def test_what_a_killed_write_left_goes_too(clinic):
    append_private(clinic / "runs" / "a" / ".split.csv.x1y2.part", f"{MINE[0]},18_4,train,pass,{CHILD},18\n")
    srlite.purge(CHILD, runs=runs(clinic))
    assert naming(clinic / "runs") == []


@pytest.mark.slow
def test_a_trained_run_is_evaluated_on_what_is_left(data, trained, tmp_path, home):
    """The real thing: frames and features that training kept, and a run that goes on being of use."""
    shutil.copytree(trained, tmp_path / "run")
    shutil.copytree(trained.parent / "home", home, dirs_exist_ok=True)
    shutil.copytree(data, tmp_path / "data")
    items, videos = tmp_path / "data" / "items.csv", tmp_path / "data" / "videos"
    rows = list(csv.reader(items.open(encoding="utf-8")))
    child = rows[0].index("child")
    whom = next(row[child] for row in rows[1:] if row[rows[0].index("item")] == "18_4")
    clips = {row[rows[0].index("video")] for row in rows[1:] if row[child] == whom}
    hashes = {file_sha256(videos / clip) for clip in clips}
    kept = [p for p in (home / "cache").rglob("*") if p.is_file()]
    found = srlite.purge(whom, runs=[tmp_path / "run"])
    assert len(clips) > 1 and len(found.kept) == 2 * len(clips) and not found.older and not found.notes
    gone = set(kept) - {p for p in (home / "cache").rglob("*") if p.is_file()}
    assert gone == set(found.kept) and {p.name.partition("-")[0] for p in gone} == hashes
    assert naming(tmp_path / "run", {whom, *clips, *hashes}) == [] == naming(home, {whom, *clips, *hashes})
    with pytest.raises(InputError, match="new since the split was made") as caught:
        srlite.evaluate(items, videos, run=tmp_path / "run")
    assert "purged from this run" in caught.value.remedy
    with items.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(row for row in rows if row[child] != whom)
    assert srlite.evaluate(items, videos, run=tmp_path / "run").arms["adapted"]
    with pytest.raises(InputError, match="records were purged"):
        srlite.train(items, videos, run=tmp_path / "run", resume=True)
    assert naming(tmp_path / "run", {whom, *clips, *hashes}) == []
