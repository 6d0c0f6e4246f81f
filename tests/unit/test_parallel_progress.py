"""Progress in all modes."""

import fcntl
import io
import os
import struct
import termios

import pytest

from rc_hpc.parallel.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def plain(total, **options):
    stream, clock = io.StringIO(), Clock()
    return Progress(total, mode="plain", stream=stream, clock=clock, **options), stream, clock


def lines(stream):
    return stream.getvalue().splitlines()


def test_plain_lines_say_all():
    progress, stream, clock = plain(200)
    clock.now += 20
    progress.update(50, 2)
    assert lines(stream) == ["50/200 structures (25 %), 2.5/s, 0:01:00 left, 2 failed"]
    clock.now += 3580
    progress.update(200, 3)
    progress.close()
    progress.close()
    assert lines(stream)[1:] == ["200/200 structures (100 %), 0.0556/s, 1:00:00 elapsed, 3 failed"]


def test_plain_lines_come_at_five_percent_steps_and_at_the_end():
    progress, stream, clock = plain(1000)
    for rows in range(1, 999):
        clock.now += 0.2
        progress.update(rows)
    assert [line.split("/")[0] for line in lines(stream)] == [str(n) for n in range(50, 999, 50)]
    progress.close()
    assert lines(stream)[-1].startswith("998/1000 structures (99 %)")


def test_a_short_run_has_one_line():
    progress, stream, clock = plain(1000)
    for rows in range(1, 1001):
        clock.now += 0.004
        progress.update(rows)
    progress.close()
    assert len(lines(stream)) == 1 and lines(stream)[0].startswith("1000/1000")


def test_a_terminal_that_tells_no_size_has_a_bar():
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    with open(theirs, "w") as stream:
        with Progress(10, stream=stream) as progress:
            assert progress.mode == "bar"
            progress.update(10)
        stream.flush()
        shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert ("10/10" in shown and "#" in shown) or "█" in shown


def test_plain_lines_come_after_the_interval():
    progress, stream, clock = plain(1000, interval_s=30)
    progress.update(1)
    clock.now += 29
    progress.update(2)
    assert not lines(stream)
    clock.now += 1
    progress.update(3)
    progress.update(4)
    assert len(lines(stream)) == 1 and lines(stream)[0].startswith("3/1000")


def test_rows_of_earlier_runs_count_for_the_percentage_only():
    progress, stream, clock = plain(100, initial=50)
    clock.now += 10
    progress.update(20)
    assert lines(stream) == ["70/100 structures (70 %), 2/s, 0:00:15 left, 0 failed"]


def test_unknown_total():
    progress, stream, clock = plain(None, unit="rows")
    clock.now += 60
    progress.update(12000, 1)
    assert lines(stream) == ["12000 rows, 200/s, 0:01:00 elapsed, 1 failed"]
    bar = Terminal()
    with Progress(None, stream=bar) as progress:
        progress.update(7)
    assert "7 structures" in bar.getvalue()


def test_nothing_to_do():
    progress, stream, _ = plain(0)
    progress.close()
    assert lines(stream) == ["0/0 structures (100 %), 0:00:00 elapsed, 0 failed"]


def test_auto_is_a_bar_on_a_terminal_only():
    assert Progress(1, stream=io.StringIO()).mode == "plain"
    stream = Terminal()
    with Progress(10, stream=stream, initial=2) as progress:
        assert progress.mode == "bar"
        progress.update(3, 1)
        progress.message("a word")
        progress.update(8, 1)
    assert "10/10" in stream.getvalue() and "1 failed" in stream.getvalue()
    assert "\ra word\n" in stream.getvalue()


@pytest.mark.parametrize(
    "options", [{"mode": "none"}, {"mode": "plain", "rank": 1}, {"mode": "bar", "rank": 1}]
)
def test_silent(options):
    stream = io.StringIO()
    with Progress(10, stream=stream, **options) as progress:
        progress.update(10, 1)
        if options.get("rank"):
            progress.message("only rank 0 speaks")
    assert stream.getvalue() == ""


def test_messages_are_shown_without_progress_too():
    stream = io.StringIO()
    Progress(10, mode="none", stream=stream).message("stopping")
    assert stream.getvalue() == "stopping\n"


def test_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="auto, bar, plain, none"):
        Progress(1, mode="pretty")
