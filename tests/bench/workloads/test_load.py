from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.bench.workloads import load_workload
from storscope.bench.workloads.builtin import PRACTICE, builtins
from storscope.bench.workloads.describe import describe
from storscope.bench.workloads.percent import percents
from storscope.bench.workloads.toml_write import write_toml
from storscope.cli.main import run
from storscope.domain.errors import ConfigError, StorscopeError, UnknownFormat, UsageError
from storscope.domain.workload import Copy, Flush, FlushKind, Starts, Workload
from tests.bench.workloads.strategies import workloads

SAMPLES = Path(__file__).parent / "samples"
FILES = sorted(SAMPLES.iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_form_is_recognised_by_content_not_by_name(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "misnamed.toml"
    copy.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    found = load_workload(copy)
    assert found.form == path.suffix[1:]
    assert [work.streams for work in found.workloads] == [work.streams for work in load_workload(path).workloads]


def test_text_and_names_and_windows_encodings_are_taken(tmp_path: Path) -> None:
    text = (SAMPLES / "mixed.fio").read_text()
    assert load_workload(text).form == "fio"
    assert load_workload("oltp").form == "builtin"
    wide = tmp_path / "wide.icf"
    wide.write_bytes((SAMPLES / "steps_1.1.0_written.icf").read_text().encode("utf-16"))
    assert load_workload(wide).form == "icf"


def _flushing(flush: str, line: str = "read_share = 0") -> str:
    return f'name = "log"\n[[stream]]\noutstanding = 1\n{flush}\nline = [{{ size = "8k", {line} }}]\n'


@pytest.mark.parametrize(("flush", "expected"), [
    ("flush_every = 1", Flush(1, FlushKind.DATA)),
    ('flush = "fdatasync"', Flush(1, FlushKind.DATA)),
    ('flush = "fsync"', Flush(1, FlushKind.FULL)),
    ('flush_every = 32\nflush = "fsync"', Flush(32, FlushKind.FULL)),
    ("", None),
])  # fmt: skip
def test_a_stream_says_which_flush_follows_how_many_of_its_writes(flush: str, expected: Flush | None) -> None:
    definition = load_workload(_flushing(flush))
    assert definition.workloads[0].streams[0].flush == expected
    assert load_workload(write_toml(definition)[0]).workloads == definition.workloads


_OF_ITS_OWN = (
    "A workload has no synchronous writes (O_SYNC, O_DSYNC); nearest is flush_every = 1 in its [[stream]], a flush of "
    "its own after each write."
)
_UNKNOWN = "expected a key that storscope knows, found"
_NO_WRITES = "expected writes, which a flush follows, found a stream that only reads."


@pytest.mark.parametrize(("text", "message", "hint"), [
    (_flushing("fdatasync = 1"), f"4:13: stream[0].fdatasync: {_UNKNOWN} 'fdatasync'.",
     "A flush after each write is flush_every = 1 in its [[stream]]."),
    (_flushing("fsync = true"), f"4:9: stream[0].fsync: {_UNKNOWN} 'fsync'.",
     'A flush after each write, of all of a file, is flush_every = 1 and flush = "fsync" in its [[stream]].'),
    (_flushing("sync = 1"), f"4:8: stream[0].sync: {_UNKNOWN} 'sync'.", _OF_ITS_OWN),
    (_flushing("dsync = 1"), f"4:9: stream[0].dsync: {_UNKNOWN} 'dsync'.", _OF_ITS_OWN),
    (_flushing("flush = 1"), '4:9: stream[0].flush: expected "fdatasync" or "fsync", found 1.',
     "How often is said by flush_every, in writes."),
    (_flushing("flush_every = 0"),
     "4:15: stream[0].flush_every: expected writes per flush, a whole number from 1 to 4294967295, found 0.",
     "Without flushes leave it out."),
    (_flushing("", "read_share = 0, flush_every = 1"),
     f"5:54: stream[0].line[0].flush_every: {_UNKNOWN} 'flush_every'.",
     "It stands in the [[stream]] whose writes it follows."),
    (_flushing('flush = "fsync"', "read_share = 1"), f"4:9: stream[0].flush: {_NO_WRITES}", ""),
    (_flushing("flush_every = 3", "read_share = 1"), f"4:15: stream[0].flush_every: {_NO_WRITES}", ""),
])  # fmt: skip
def test_what_is_no_flush_is_refused_with_line_and_key_and_what_to_write(text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_workload(text)
    assert str(refused.value) == f"the text:{message}" + (f"\n  {hint}" if hint else "")


def test_a_flush_is_explained_with_who_waits_for_it() -> None:
    text = _flushing("flush_every = 4\nthink_time = '1ms'")
    words = describe(load_workload(text).workloads[0])
    assert (
        "After every 4 writes of a worker on a target follows a flush (fdatasync: the data), in the write's place, "
        "whose next request waits for it." in words
    )
    assert any(line.startswith("After each completion, or the flush behind it, a place in the queue") for line in words)
    text = _flushing('flush = "fsync"').replace("outstanding = 1", "rate_per_s = 10")
    assert (
        "After each write follows a flush (fsync: the data and all that is known of the file), sent the instant the "
        "write is done." in describe(load_workload(text).workloads[0])
    )


def test_commits_are_the_log_with_its_flushes() -> None:
    commits, log = (builtins()[name].workload.streams[0] for name in ("commits", "log"))
    assert commits == replace(log, flush=Flush(1, FlushKind.DATA))


def test_json_is_the_generators_own_form(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps(builtins()["oltp"].workload.to_json()))
    assert load_workload(path).workloads == (builtins()["oltp"].workload,)
    path.write_text(path.read_text().replace('"burst": 1', '"burst": 0'))
    with pytest.raises(StorscopeError, match=r"w.json: streams\[0\].access.lines\[0\].burst: expected at least one"):
        load_workload(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x7fELF\x00\x00",
        os.urandom(4096),
        b"just words\nand more",
        b"{" * 10**5,
        b"[" * 10**5,
        b"Version 1.1.0",
        b"\xff\xfe\x00",
        b"[j]\nrw=" + b"9" * 10**6,
        b"Version 1\n" + b"'Worker\n" * 10**5,
        b"\n" * 10**6,
        b"[ " + b" " * 10**6,
        b'name = "a"\n[[stream]]\n[ ' + b" " * 10**6,
        b'name = "a"\nx = ' + b"9" * 10**5,
        b"[a]\nrw=trim\n" * 10**4,
        b"Version 1\n'MANAGER LIST ==\n'Worker\nw\n" + b"'Target\nt\n" * 10**5,
    ],
)
def test_hostile_content_is_refused_as_a_message(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(StorscopeError):
        load_workload(path)
    assert run(["workload", "show", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_directory_and_an_empty_file_are_named_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", str(tmp_path)]) == 2
    assert f"{tmp_path}: expected a file, found a directory" in capsys.readouterr().err
    empty = tmp_path / "empty.icf"
    empty.write_text(" \n")
    assert run(["workload", "show", str(empty)]) == 2
    assert "found an empty file" in capsys.readouterr().err


def test_what_is_no_file_is_refused_without_hanging(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises((UsageError, OSError)):
            load_workload(path)
    with pytest.raises(UsageError, match="Built in are: oltp"):
        load_workload("no-such-thing")
    with pytest.raises(UnknownFormat, match="binary"):
        load_workload("/bin/true")


# Built in -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", builtins())
def test_every_number_of_a_built_in_workload_has_a_source(name: str) -> None:
    item = builtins()[name]
    item.workload.check(1)
    prefixes = [f"{stream.name}: " for stream in item.workload.streams] if len(item.workload.streams) > 1 else [""]
    covered = {(prefix, word.strip()) for prefix in prefixes for key in item.sources if key.startswith(prefix)
               for word in key.removeprefix(prefix).split(",")}  # fmt: skip
    for prefix, stream in zip(prefixes, item.workload.streams, strict=True):
        needed = {"size", "outstanding"} | ({"workers"} if stream.workers > 1 else set())
        needed |= {"destination"} if isinstance(stream.access, Copy) else {"reads", "random"}
        if not isinstance(stream.access, Copy):
            needed |= {"share"} if len(stream.access.lines) > 1 else set()
            needed |= {"alignment"} if any(line.align_bytes for line in stream.access.lines) else set()
        assert {word for found, word in covered if found == prefix} >= needed
    assert all(source == PRACTICE or len(source) > 30 for source in item.sources.values())


def test_the_classics_are_those_of_the_thread() -> None:
    names = ("max-throughput-read", "real-life", "max-throughput-mixed", "random-8k-70-read")
    found = [builtins()[name].workload.streams[0] for name in names]
    lines = [stream.access.lines[0] for stream in found if not isinstance(stream.access, Copy)]
    shown = [(line.size_bytes, line.read_share, line.random_share, line.align_bytes) for line in lines]
    assert shown == [(32768, 1, 0, 512), (8192, 0.65, 0.6, 512), (32768, 0.5, 0, 512), (8192, 0.7, 1, 512)]


# Words ----------------------------------------------------------------------------------------------------------------


@given(workloads())
def test_every_workload_can_be_explained(workload: Workload) -> None:
    text = " ".join(describe(workload))
    assert len(text) > 40
    assert "None" not in text
    assert ("write" in text) == workload.writes or "reads" in text


def test_the_explanation_says_whether_sequential_workers_visit_the_same_places() -> None:
    form = 'name = "a"\n[[stream]]\nworkers = 2\noutstanding = 1\nstarts = "{}"\n'
    form += 'line = [{{ size = "4k", random_share = {} }}]'
    said = {
        (starts, random): " ".join(describe(load_workload(form.format(starts, random)).workloads[0]))
        for starts in ("together", "apart")
        for random in (0, 1)
    }
    assert [key for key, text in said.items() if "visit the same places" in text] == [("together", 0)]


def test_the_streams_of_a_backup_do_not_read_for_each_other() -> None:
    assert builtins()["backup"].workload.streams[0].starts is Starts.APART


def test_the_explanation_says_what_decides() -> None:
    text = " ".join(describe(load_workload(SAMPLES / "steps_1.1.0_written.icf").workloads[0]))
    for words in ("2 streams at the same time", "keeps 16 I/Os outstanding on each target", "32 KiB, 50 % reads",
                  "4 back to back after a pause of 5.00 ms", "a transfer of 512 B the other way",
                  "from 1 MiB"):  # fmt: skip
        assert words in text


def explained(lines: str, more: str = "") -> str:
    form = f'name = "a"\n{more}\n[[stream]]\noutstanding = 1\nregion = {{ start = 512000 }}\nline = [{lines}]'
    return " ".join(describe(load_workload(form).workloads[0]))


@pytest.mark.parametrize(("lines", "words"), [
    ('{ size = "4k", random_share = 0, align = "64k" }', "sequential, each at the next multiple of 64 KiB."),
    ('{ size = "64k", random_share = 0, align = "4k" }', "64 KiB, all reads, sequential."),
    ('{ size = "4k", random_share = 0 }, { size = "8k", random_share = 0 }', "8 KiB, all reads, sequential, each at"),
    ('{size = 512, reply = "8k", share = 7, random_share = 0 }, { size = "8k", read_share = 0, reply = 512, share = 3}',
     "over all, 4.25 KiB on average, 50 % reads, 30 % random"),
])  # fmt: skip
def test_the_explanation_tells_gaps_in_sequences_and_counts_replies(lines: str, words: str) -> None:
    assert words in explained(lines)


def test_the_explanation_tells_where_alignment_counts_from_if_it_matters() -> None:
    said = "counted from the start of the region"
    assert said in explained('{ size = "16k" }')
    assert said not in explained('{ size = "4k" }')
    assert "from 500 KiB, to the end" in explained('{ size = "4k" }')


def test_a_region_begins_where_it_says_to_the_byte() -> None:
    form = 'name = "a"\n[[stream]]\noutstanding = 1\nregion = { start = 512512 }\nline = [{ size = 512 }]'
    assert "(512,512 bytes)" in " ".join(describe(load_workload(form).workloads[0]))


def test_what_is_checked_is_told_only_where_something_is_read() -> None:
    form = (
        'name = "a"\nverification = "stamps"\n[[stream]]\noutstanding = 1\nline = [{{ size = "4k", read_share = {} }}]'
    )
    assert "but nothing is" in " ".join(describe(load_workload(form.format(0)).workloads[0]))
    assert "must have been written" in " ".join(describe(load_workload(form.format(1)).workloads[0]))


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=100), st.sampled_from([100, 1000]))
def test_percentages_add_up_and_are_off_by_less_than_one(shares: list[float], total: int) -> None:
    found = percents(shares, total)
    assert sum(found) == total
    assert all(abs(part - total * share / sum(shares)) < 1.001 for part, share in zip(found, shares, strict=True))


# Command line ---------------------------------------------------------------------------------------------------------


def test_show_prints_words_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", str(SAMPLES / "steps_1.1.0_written.icf"), "--only", "Spare"]) == 0
    assert "512 B, all reads, all at random offsets" in capsys.readouterr().out
    assert run(["workload", "show", str(SAMPLES / "mixed.fio"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [Workload.from_json(form).name for form in shown["workloads"]] == ["tables + wal", "scan"]
    assert {loss["kind"] for loss in shown["losses"]} == {"lost", "approximated", "elsewhere"}
    assert run(["workload", "show", str(SAMPLES / "mixed.fio"), "--only", "x"]) == 2
    assert "It defines: 'tables + wal', 'scan'" in capsys.readouterr().err


def test_the_targets_that_a_file_names_are_not_dropped_silently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, data = tmp_path / "two.fio", tmp_path / "data"
    job.write_text("[global]\nrw=randread\n[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/nvme1n1\n")
    data.mkdir()
    assert run(["workload", "show", str(job)]) == 0
    assert "Targets in the file: 0 /dev/nvme0n1, 1 /dev/nvme1n1." in capsys.readouterr().out
    assert run(["bench", str(data), str(data), "--workload", str(job), "--size", "4M", "--dry-run"]) == 0
    assert "not used: the file's own targets, 0 /dev/nvme0n1, 1 /dev/nvme1n1" in capsys.readouterr().err
    assert run(["workload", "convert", "oltp", "--to", "fio", "-o", str(job), "--replace"]) == 0
    assert run(["workload", "show", str(job)]) == 0
    assert "Targets in the file" not in capsys.readouterr().out


@pytest.mark.parametrize(("keys", "said"), [
    ("outstanding = [1, 4]\nworkers = [1, 2]", ["1, 4 outstanding I/Os", "1, 2 workers"]),
    ('duration = "5s"\ntargets = [1]', []),
])  # fmt: skip
def test_one_measurement_says_what_it_does_not_repeat(
    keys: str, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cycled.toml"
    one = '[[workload]]\nname = "a"\nstream = [{ outstanding = 1, line = [{ size = "4k" }] }]\n'
    file.write_text(f"[sweep]\n{keys}\n{one}")
    assert run(["bench", str(tmp_path), "--workload", str(file), "--size", "4M", "--dry-run"]) == 0
    shown = capsys.readouterr().err.splitlines()
    assert [line for line in shown if "--sweep does that" in line] == [
        f"not done: repeated with {values}, as the file says; --sweep does that" for values in said
    ]


def test_list_names_every_built_in_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in builtins())
    assert run(["workload", "list", "--json"]) == 0
    assert [item["name"] for item in json.loads(capsys.readouterr().out)] == list(builtins())


@pytest.mark.parametrize("form", ["icf", "fio", "toml"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_convert_writes_a_form_that_is_read_again_and_lists_losses_apart(
    path: Path, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    targets = ["--target", "/dev/a", "--target", "/dev/b"] if form == "fio" else []
    assert run(["workload", "convert", str(path), "--to", form, "-o", str(output), *targets]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Not as in the source" in shown.err
    before, after = load_workload(path), load_workload(output)
    assert after.form == form
    assert len(after.workloads) == len(before.workloads)
    assert [work.writes for work in after.workloads] == [work.writes for work in before.workloads]


@pytest.mark.parametrize("form", ["icf", "fio"])
@pytest.mark.parametrize("pattern", ["randrw", "randwrite", "randread"])
def test_a_check_that_is_lost_is_lost_once_where_the_job_asks_for_it(
    pattern: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "checked.fio"
    path.write_text(
        f"[v]\nfilename=/dev/x\nsize=64M\nrw={pattern}\nbs=4k\nnorandommap\nverify=crc32c\nverify_fatal=1\n"
    )
    assert run(["workload", "convert", str(path), "--to", form, "-o", str(tmp_path / "out")]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "verif" in line or "stamp" in line]
    (lost,) = [line for line in said if "verify=crc32c" in line or ": verification" in line]
    assert lost.startswith("  lost  [v] line 7: verify=crc32c: ")
    assert "stamps are checked" not in "".join(said)
    assert run(["workload", "convert", str(path), "--to", "toml", "-o", str(tmp_path / "out.toml")]) == 0
    assert "  approximated  [v] line 7: verify=crc32c: " in capsys.readouterr().err or pattern == "randwrite"


def test_what_a_file_says_cannot_command_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evil.icf"
    path.write_text((SAMPLES / "classic_2004.07.30_written.icf").read_text().replace("Read it all", "Read\x1b[2Jall"))
    assert run(["workload", "show", str(path)]) == 0
    shown = capsys.readouterr()
    assert "\x1b[2J" not in shown.out + shown.err


def test_a_database_is_found_by_the_word_that_people_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert load_workload("database") == load_workload("oltp")
    assert run(["workload", "list"]) == 0
    assert "oltp (database)" in capsys.readouterr().out
    assert run(["workload", "show", "no such"]) == 2
    assert "oltp (database), vdi-boot" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["# mine\n\nname = oltp\n[stream]\n", "name=oltp\n[[strem]]\n", "targets = a\n[sweep]\n"]
)
def test_toml_without_quotes_is_no_job_of_fio(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^the text:\d:\d+: expected a value, .*\n  Texts, .* stand in quotes: "):
        load_workload(text)


def test_a_file_named_without_its_ending_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs.fio").write_text("[global]\n")
    with pytest.raises(UsageError) as refused:
        load_workload("logs")
    assert refused.value.hint.startswith("There is logs.fio. Built in are: oltp")
    (tmp_path / "logs.workload.toml").write_text("")
    with pytest.raises(UsageError) as refused:
        load_workload("logs")
    assert refused.value.hint.startswith("There is logs.workload.toml, and logs.fio. Built in are: oltp")


@pytest.mark.parametrize("name", ["others", "/", "x" * 5000, "no/such/folder"])
def test_nothing_is_told_where_no_file_is_meant(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        load_workload(name)
    assert "There is" not in refused.value.hint


@pytest.mark.parametrize(("text", "hint"), [
    ("sd=sd1,lun=/dev/sdb\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\n", "vdbench's parameters are not read: write TOML"),
    ("rw=randread\nbs=4k\n", r"a line like \[job\] belongs above them"),
    ("elephants\n", "An .icf begins with 'Version'"),
])  # fmt: skip
def test_of_another_form_it_is_told_what_to_do(tmp_path: Path, text: str, hint: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(UnknownFormat, match=hint):
        load_workload(tmp_path / "file")


def test_a_misspelt_field_in_json_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'access'"):
        load_workload('{"name": "x", \n"streams": [{"acces": 1}]}')


def test_of_a_hundred_sizes_the_ends_are_told_and_the_rest_in_a_line() -> None:
    workload = load_workload("[a]\nrw=write\nsize=1g\nbsrange=512-64k\n").workloads[0]
    kinds = [line for line in describe(workload) if line.startswith("  ")]
    assert len(kinds) == 7
    assert kinds[0] == "  0.781 %: 512 B, all writes, sequential."
    assert kinds[3] == "  94.5 %: 94 more kinds, 2.50 KiB to 61.5 KiB (convert --to toml lists all)"
    assert kinds[6] == "  1.56 %: 64 KiB, all writes, sequential."


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("otlp", "oltp"),
        ("vdi_boot", "vdi-boot"),
        ("fileserver", "file-server"),
        ("databse", "database"),
        ("commit", "commits"),
    ],
)
def test_a_slip_in_the_name_of_a_built_in_workload_is_answered_with_the_name(typed: str, meant: str) -> None:
    with pytest.raises(UsageError) as raised:
        load_workload(typed)
    assert f"Did you mean '{meant}'? Built in are: oltp" in str(raised.value.hint)


@pytest.mark.parametrize("typed", ["nofile.fio", "jobs/mine.toml", "x", "oltp.toml"])
def test_a_file_that_is_missing_is_not_taken_for_a_slip(typed: str) -> None:
    with pytest.raises(UsageError) as raised:
        load_workload(typed)
    assert "Did you mean" not in str(raised.value.hint)
