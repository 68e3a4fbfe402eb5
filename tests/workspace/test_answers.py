"""The file of answers: nothing lost, nothing doubled, whoever is killed when."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.errors import InputFileError, WorkspaceError
from lcdvt.workspace.answers import Answer, AnswerFile, AnswerLog, Undo, read_answers


def answer(key: str, star: str, label: str | None, who: str = "ann", when: str = "2026-01-01") -> Answer:
    return Answer(key, star, label, who=who, when=when)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers" / "new.jsonl"


def test_an_answer_is_read_back_as_it_was_given(path):
    given_one = Answer(
        "k1", "<script>é", "CEP", who="ann", when="2026-01-01", confidence="likely", period=1.5, note="blended\n?",
        run="r", model={"predicted": "EB", "probability": {"EB": 0.6}},
    )  # fmt: skip
    AnswerFile(path, "new").add(given_one)
    assert read_answers(path, "new").answers == {"k1": given_one}
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_the_same_key_counts_once(path):
    file = AnswerFile(path, "new")
    file.add(answer("k", "a", "CEP"))
    size = path.stat().st_size
    assert file.add(answer("k", "a", "EB")).label == "CEP"
    assert AnswerFile(path, "new").add(answer("k", "a", "EB")).label == "CEP"
    assert path.stat().st_size == size


def test_undo_is_a_line_of_its_own_and_brings_the_answer_before_back(path):
    file = AnswerFile(path, "new")
    file.add(answer("1", "a", "CEP"))
    file.add(answer("2", "a", "EB"))
    before = path.read_bytes()
    file.add(Undo("u", "2", "ann"))
    assert path.read_bytes().startswith(before)
    assert file.log.labels() == read_answers(path).labels() == {"a": "CEP"}
    assert file.log.last_of("ann") == answer("1", "a", "CEP")


def test_a_torn_line_is_cut_off_and_only_by_a_writer(path):
    AnswerFile(path, "new").add(answer("1", "a", "CEP"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"answer": {"key": "2", "st')
    assert list(read_answers(path).answers) == ["1"]
    assert path.read_bytes() != whole
    file = AnswerFile(path, "new")
    assert path.read_bytes() == whole
    file.add(answer("2", "b", "EB"))
    assert list(read_answers(path).answers) == ["1", "2"]


def test_a_torn_header_is_written_again(path):
    path.parent.mkdir()
    path.write_bytes(b'{"answers": 1, "sur')
    AnswerFile(path, "new").add(answer("1", "a", "CEP"))
    assert read_answers(path, "new").labels() == {"a": "CEP"}


def test_two_writers_of_one_file_see_each_other(path):
    one, other = AnswerFile(path, "new"), AnswerFile(path, "new")
    one.add(answer("1", "a", "CEP"))
    other.add(answer("2", "b", "EB", who="bob"))
    assert one.refresh().labels() == other.log.labels() == {"a": "CEP", "b": "EB"}


def test_a_file_that_was_replaced_is_read_again(path):
    file = AnswerFile(path, "new")
    file.add(answer("1", "a", "CEP"))
    path.unlink()
    AnswerFile(path, "new").add(answer("2", "b", "EB"))
    assert file.refresh().labels() == {"b": "EB"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"answers": 1, "survey": "new"}\nnonsense\n', "line 2"),
        (b'{"answers": 1, "survey": "new"}\n{"answer": {"key": "1"}}\n', "line 2"),
        (b'{"answers": 1, "survey": "new"}\n{"answer": 7}\n', "line 2"),
        (b'{"answers": 9, "survey": "new"}\n', "version 9"),
        (b"id,class\na,CEP\n", "line 1"),
        (b'{"answers": 1, "survey": "old"}\n', "about old"),
    ],
)
def test_what_is_no_file_of_answers_is_refused_in_a_sentence_and_left_alone(path, content, said):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises((WorkspaceError, InputFileError), match=said):
        AnswerFile(path, "new")
    with pytest.raises((WorkspaceError, InputFileError), match=said):
        read_answers(path, "new")
    assert path.read_bytes() == content


def test_a_disk_that_cannot_be_written_is_told(path):
    path.parent.write_text("a file where the folder should be")
    with pytest.raises(WorkspaceError, match="cannot be written"):
        AnswerFile(path, "new").add(answer("1", "a", "CEP"))


@pytest.mark.parametrize(
    ("voices", "label", "disputed"),
    [
        ({"ann": "CEP"}, "CEP", False),
        ({"ann": "CEP", "bob": "CEP"}, "CEP", False),
        ({"ann": "CEP", "bob": None}, "CEP", False),
        ({"ann": "CEP", "bob": "EB"}, None, True),
        ({"ann": "CEP", "bob": "EB", "eve": "EB"}, "EB", True),
        ({"ann": None}, None, False),
    ],
)
def test_the_verdict_is_what_more_than_half_say(voices, label, disputed):
    log = AnswerLog("new")
    for number, (who, said) in enumerate(voices.items()):
        log.take(answer(str(number), "a", said, who))
    verdict = log.verdicts()["a"]
    assert (verdict.label, verdict.is_disputed) == (label, disputed)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["CEP", "EB", None]), st.booleans()), max_size=20))
def test_merging_in_any_order_gives_the_same_verdicts(steps):
    records: list[Answer | Undo] = []
    for number, (star, label, undone) in enumerate(steps):
        who = "ann" if number % 2 else "bob"
        records.append(answer(f"k{number}", star, label, who, f"2026-01-{number + 1:02d}"))
        if undone:
            records.append(Undo(f"u{number}", f"k{number}"))
    forward, backward = AnswerLog("new"), AnswerLog("new")
    for record in records:
        forward.take(record)
    for record in reversed(records):
        backward.take(record)
    assert forward.labels() == backward.labels()


WRITER = """
import sys
from pathlib import Path
from lcdvt.workspace.answers import Answer, AnswerFile
file = AnswerFile(Path(sys.argv[1]), "new")
number = 0
while True:
    key = f"{sys.argv[2]}-{number}"
    file.add(Answer(key, f"star {number}", "CEP", who="ann", note="x" * 300))
    print(key, flush=True)
    number += 1
"""


def test_what_was_told_to_be_saved_outlives_kill_9(path):
    """Each writer is killed in the middle of its work; what it had printed is there, once, and the next goes on."""
    told: list[str] = []
    for name in ("first", "second"):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        told += [writer.stdout.readline().strip() for _ in range(20)]
        time.sleep(0.05)
        os.kill(writer.pid, signal.SIGKILL)
        told += writer.stdout.read().split("\n")[:-1]
        writer.wait()
    keys = [json.loads(line)["answer"]["key"] for line in path.read_text().splitlines()[1:] if line.endswith("}}")]
    assert len(keys) == len(set(keys))
    assert set(told) <= set(keys)
    assert set(read_answers(path).answers) == set(keys)
