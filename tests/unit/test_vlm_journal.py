"""The journal: on the disk before it counts, whole after any death, never two runs at once."""

import asyncio
import json
import os

import pytest

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.vlm.journal import Journal, Records, read_journal, set_aside

RUN = {"model": "m", "temperature": 0.7}


def record(key, outcome="answered", **more):
    return {"key": key, "outcome": outcome, "text": f"text of {key}\nANSWER: Å", **more}


def write(path, *records, identity=RUN, resume=False, sent=()):
    async def go():
        journal = Journal(path, identity, resume)
        for key in sent:
            journal.sent(key)
        await asyncio.gather(*map(journal.append, records))
        await journal.close()
        return journal

    return asyncio.run(go())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.journal.jsonl"


def test_records_come_back(path):
    write(path, *(record(f"k{n}", n=n) for n in range(50)))
    records = Records(path)
    assert [found and found["n"] for found in records.read(["k7", "nothing", "k0"])] == [7, None, 0]
    assert records.contents.identity == RUN and len(records.contents.places) == 50


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_left_out_and_its_request_asked_again(path, cut, caplog):
    write(path, record("a"), record("b"), sent=["a", "b"])
    path.write_bytes(path.read_bytes()[:-cut])
    assert set(read_journal(path).places) == {"a"} and read_journal(path).lost == {"b"}
    journal = write(path, record("b", n=2), resume=True)
    assert (
        journal.outcome("a") is Outcome.answered
        and journal.outcome("b") is None
        and "was cut" in caplog.text
    )
    found = read_journal(path)
    assert set(found.places) == {"a", "b"} and not found.lost and found.n_repeated == 0
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


FOREIGN = {
    "a file of something else": (0, b"line of something else\n" * 1000),
    "JSON lines of something else": (0, b'{"material_id": "mp-1"}\n' * 3),
    "one word": (0, b"mine"),
    "lines behind a journal": (None, b"mine\nmine too\n"),
}


@pytest.mark.parametrize(("keep", "more"), FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_wholly_a_journal_is_left_as_it_is(path, keep, more):
    write(path, record("a"))
    path.write_bytes(path.read_bytes()[:keep] + more)
    before = path.read_bytes()
    with pytest.raises(RcError, match="journal"):
        write(path, record("b"), resume=True)
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("tail", [b'{"key": "b", "outc', b'{"kex": 3}\n', bytes(7) + b"\n"])
def test_a_damaged_tail_is_kept_aside(path, tail, caplog):
    write(path, record("a"))
    good = path.read_bytes()
    path.write_bytes(good + tail)
    write(path, record("b"), resume=True)
    (kept,) = path.parent.glob("*.tail.*")
    assert kept.read_bytes() == tail and str(kept) in caplog.text
    assert path.read_bytes().startswith(good) and set(read_journal(path).places) == {"a", "b"}


def test_a_beginning_that_was_cut_is_begun_anew(path):
    path.write_bytes(b'{"run": {"mo')
    write(path, record("a"))
    assert set(read_journal(path).places) == {"a"}


def test_a_planted_link_is_not_followed(path):
    other = path.with_name("precious")
    other.write_bytes(b"")
    path.symlink_to(other)
    with pytest.raises(RcError, match="symbolic link"):
        write(path, record("a"))
    assert other.read_bytes() == b""


def test_zeros_that_a_power_loss_left_are_a_torn_end(path):
    write(path, record("a"))
    with open(path, "ab") as file:
        file.write(bytes(100) + b"\n" + bytes(10))
    assert set(read_journal(path).places) == {"a"}


def test_damage_within_is_told_not_skipped(path):
    write(path, record("a"), record("b"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"key": "a", "outc\n' + lines[2])
    with pytest.raises(RcError, match="line 2 is damaged"):
        read_journal(path)


def test_earlier_work_needs_a_word(path):
    write(path, record("a"))
    with pytest.raises(UsageError, match="--resume"):
        write(path, record("b"))
    with pytest.raises(RcError, match=r"temperature: was 0\.7, now 0"):
        write(path, identity={"model": "m", "temperature": 0}, resume=True)
    write(path, record("b"), resume=True)
    assert set(read_journal(path).places) == {"a", "b"}


def test_replies_outlive_the_version_that_paid_for_them(path):
    write(path, record("a"), identity={"rc_hpc": "0.1.0", **RUN})
    write(path, record("b"), resume=True)
    assert set(read_journal(path).places) == {"a", "b"}


def test_a_paid_reply_is_never_replaced_and_a_failure_is(path):
    write(path, record("a", n=1), record("b", "gave_up"), record("c", "request_error"))
    write(path, record("a", n=2), record("b", n=2), record("c", n=2), resume=True)
    assert [found["n"] for found in Records(path).read("abc")] == [1, 2, 2]
    assert read_journal(path).n_repeated == 1


def test_what_went_out_and_never_came_back_is_known(path):
    async def go():
        journal = Journal(path, RUN)
        for key in "abc":
            journal.sent(key)
        journal.sent("b", back=True)
        await journal.append(record("a"))
        await journal.close()

    asyncio.run(go())
    assert read_journal(path).lost == {"c"}


def test_two_runs_at_once_are_refused(path):
    first = Journal(path, RUN)
    with pytest.raises(RcError, match="another run"):
        Journal(path, RUN, resume=True)
    with pytest.raises(RcError, match="another run"):
        set_aside(path)
    asyncio.run(first.close())
    asyncio.run(Journal(path, RUN, resume=True).close())


def test_a_full_disk_is_told_and_leaves_no_torn_line(path, monkeypatch):
    write(path, record("a"))
    before = path.read_bytes()
    real = os.write

    def half(handle, data):
        real(handle, bytes(data[: len(data) // 2]))
        raise OSError(28, "No space left on device")

    async def go():
        journal = Journal(path, RUN, True)
        monkeypatch.setattr(os, "write", half)
        with pytest.raises(RcError, match="No space left"):
            await journal.append(record("b"))
        monkeypatch.undo()
        await journal.close()

    asyncio.run(go())
    assert path.read_bytes() == before


def test_every_record_is_synced_before_it_counts(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))

    async def go():
        journal = Journal(path, RUN)
        for n in range(3):
            await journal.append(record(f"k{n}"))
            assert synced[-1] == os.path.getsize(path)
        await journal.close()

    asyncio.run(go())


def test_text_that_has_no_utf8_survives(path):
    write(path, record("a", odd="\ud800 \u2028 \0"))
    (found,) = Records(path).read(["a"])
    assert found["odd"].endswith("\u2028 \0")


def test_set_aside_keeps_what_was_paid_for(path):
    assert set_aside(path) is None
    for number in (1, 2):
        path.write_text(f"{number}")
        assert set_aside(path).name == f"{path.name}.{number}"
    assert not path.exists()
