"""The chained log: a changed line is found and named, a purged one leaves the chain whole, a cut-off one is recognised."""

import hashlib
import json
import stat

import pytest
from kept_run import case, records, review_row

from srlite.errors import InputError
from srlite.reviews.log import FIRST, append, read_log, without
from srlite.reviews.table import Review

NOW = "2026-07-02T08:00:00+00:00"
CASES = [case(r) for r in records()[:5]]


def review(case, **changes):
    row = review_row(case, **changes)
    return Review.model_validate(row)


@pytest.fixture
def path(tmp_path):
    """A log of five lines, written in two goes."""
    path = tmp_path / "reviews.jsonl"
    append(path, [review(c) for c in CASES[:3]], now=NOW)
    append(path, [review(c) for c in CASES[3:]], now=NOW)
    return path


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, changed):
    path.write_text("".join(json.dumps(line) + "\n" for line in changed))


def test_the_chain_is_what_its_docstring_says(path):
    """Worked out here from the text alone, with hashlib."""
    previous = "0" * 64
    for line in lines(path):
        entry = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
        assert line["previous"] == previous and line["digest"] == hashlib.sha256(entry).hexdigest()
        previous = hashlib.sha256((line["previous"] + line["digest"]).encode()).hexdigest()
    found = read_log(path)
    assert (found.head, found.lines, found.purged, found.unfinished) == (previous, 5, 0, False)
    assert [e.review_only for e in found.entries] == [review(c) for c in CASES]
    assert {e.added for e in found.entries} == {NOW} and len({e.salt for e in found.entries}) == 5
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_file_is_an_empty_log(tmp_path):
    found = read_log(tmp_path / "reviews.jsonl")
    assert (found.lines, found.head, found.unfinished) == (0, FIRST, False)


def edited(found):
    found[2]["entry"]["human_decision"] = "pass"


def edited_with_its_digest(found):
    """Somebody who knows how it is made: the line is right by itself, the one behind it tells."""
    found[2]["entry"]["human_decision"] = "pass"
    text = json.dumps(found[2]["entry"], sort_keys=True, separators=(",", ":"))
    found[2]["digest"] = hashlib.sha256(text.encode()).hexdigest()


def moved(found):
    found[1], found[2] = found[2], found[1]


def taken_out(found):
    del found[1]


def put_in(found):
    found.insert(3, found[2])


def emptied(found):
    found[4]["entry"] = None


@pytest.mark.parametrize(
    ("change", "line"),
    [(edited, 3), (edited_with_its_digest, 4), (moved, 2), (taken_out, 2), (put_in, 4), (emptied, 5)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_first_line_where_the_chain_breaks_is_named(path, change, line):
    found = lines(path)
    change(found)
    write(path, found)
    before = path.read_bytes()
    for attempt in (lambda: read_log(path), lambda: append(path, [review(CASES[0])], now=NOW)):
        with pytest.raises(InputError, match="the chain breaks") as caught:
            attempt()
        assert caught.value.where == f"{path}, line {line}" and caught.value.exit_code == 3
    assert path.read_bytes() == before


def test_every_byte_of_a_line_is_vouched_for(path):
    """Another digit or letter, anywhere: the line is not as it was, or not readable."""
    text = path.read_text()
    second = len(text.split("\n")[0]) + 1
    for at in range(second, second + len(text.split("\n")[1]), 7):
        other = "0" if text[at] != "0" else "1"
        path.write_text(text[:at] + other + text[at + 1 :])
        with pytest.raises(InputError) as caught:
            read_log(path)
        assert caught.value.where in (f"{path}, line 2", f"{path}, line 3")


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_last_line_that_a_power_cut_left_is_no_line(path, cut):
    """Cut anywhere, even before its line feed alone."""
    whole = path.read_text()
    head = read_log(path).head
    append(path, [review(CASES[0], note="later")], now=NOW)
    last = path.read_text()[len(whole) :]
    path.write_text(whole + last[: len(last) - cut])
    found = read_log(path)
    assert found.unfinished and (found.lines, found.head) == (5, head)
    after = append(path, [review(CASES[0], note="again")], now=NOW)
    assert after.lines == 6 and not after.unfinished and after.entries[-1].note == "again"
    assert path.read_text().startswith(whole)


def test_a_purged_review_leaves_the_chain_whole_and_nothing_of_itself(path):
    before, head, salts = lines(path), read_log(path).head, [e.salt for e in read_log(path).entries]
    gone = {CASES[0].clip, CASES[4].clip}
    text, count = without(path.read_text(), lambda r: r.clip in gone, day="2026-07-03")
    assert count == sum(c.clip in gone for c in CASES) == 3
    path.write_text(text)
    found = read_log(path)
    assert (found.lines, found.purged, found.head) == (5, 3, head)
    after = lines(path)
    assert [line["digest"] for line in after] == [line["digest"] for line in before]
    assert [a for a in after if a["entry"]] == [b for b in before if b["entry"]["clip"] not in gone]
    assert all(line["purged"] == "2026-07-03" for line in after if not line["entry"])
    assert not any(clip in text for clip in gone) and not any(
        s in text for s, c in zip(salts, CASES, strict=True) if c.clip in gone
    )
    assert without(text, lambda r: r.clip in gone, day="2026-07-04") == (text, 0)
    assert append(path, [review(CASES[2], note="more")], now=NOW).lines == 6


def test_purging_does_not_mend_a_broken_chain(path):
    found = lines(path)
    edited(found)
    write(path, found)
    text, count = without(path.read_text(), lambda r: r.clip == CASES[4].clip, day="2026-07-03")
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_log(path)
    assert count and caught.value.where == f"{path}, line 3"


def test_purging_takes_an_unfinished_line_along(path):
    whole = path.read_text()
    assert without(whole + '{"previous": "', lambda r: False, day="2026-07-03") == (whole, 1)
