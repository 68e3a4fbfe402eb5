"""`lcdvt verify` says what is wrong, where, and what to do; and nothing of a sound workspace."""

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.raw_files import write_eros

import lcdvt
from lcdvt.errors import WorkspaceError
from lcdvt.workspace.journal import Journal, locked, written_file

OLD_RUN = Path(__file__).parents[1] / "data" / "run-0.1"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a survey that has grown and got new features, and a run."""
    folder = tmp_path_factory.mktemp("sound")
    for star in range(45):
        if star == 30:
            lcdvt.ingest(folder / "eros", jobs=1, features=["Mean"], data=folder / "data")
            lcdvt.extract("eros", features=["Mean", "Color"], jobs=1, data=folder / "data")
        rows = [(300.0 + day, 15.0 + (star + day) % 9 / 10, 0.02, 16.0 + day % 5 / 10, 0.03) for day in range(20)]
        write_eros(folder / "eros", f"lm0010k{star:02d}", rows)
    lcdvt.ingest(folder / "eros", jobs=1, data=folder / "data")
    shutil.copytree(OLD_RUN, folder / "data" / "runs" / "old")
    return folder / "data"


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "data"))


def rewrite(path: Path, change) -> None:
    """Change a table so that only a look inside tells: the journal takes the new bytes for the right ones."""
    table = pq.read_table(path)
    pq.write_table(change(table), path, store_schema=False)
    root = path.parents[1] if path.parent.name in ("epochs", "features") else path.parent
    Journal(root / ".ingest").note_files({str(path.relative_to(root)): written_file(path)})


def first(data: Path, kind: str) -> Path:
    return sorted((data / "eros" / kind).glob("part-*.parquet"))[0]


def test_a_sound_workspace_has_no_findings(sound):
    survey, run = lcdvt.verify(data=sound)
    assert (survey.kind, survey.name, survey.objects, survey.findings) == ("survey", "eros", 45, [])
    assert survey.files == 12, "three parts of epochs, features and objects, all objects, the description, the summary"
    assert (run.kind, run.name, run.findings) == ("run", "old", [])
    assert lcdvt.verify("old", data=sound) == [run]
    assert lcdvt.verify(sound / "eros") == [survey]


def cut(data: Path) -> None:
    os.truncate(first(data, "epochs"), 100)


def flip(data: Path) -> None:
    content = bytearray(first(data, "features").read_bytes())
    content[100] ^= 1
    first(data, "features").write_bytes(content)


def unsorted(data: Path) -> None:
    rewrite(first(data, "epochs"), lambda table: table.take([1, 0, *range(2, len(table))]))


def other_column(data: Path) -> None:
    rewrite(first(data, "epochs"), lambda table: table.append_column("x", table["mag"]))


def epochs_gone(data: Path) -> None:
    rewrite(first(data, "epochs"), lambda table: table.slice(3))


def features_of_others(data: Path) -> None:
    rewrite(first(data, "features"), lambda table: table.set_column(0, "object_id", pa.array(["x"] * len(table))))


def infinite(data: Path) -> None:
    rewrite(first(data, "features"), lambda table: table.set_column(1, "Mean_B", pa.array([float("inf")] * len(table))))


def object_gone(data: Path) -> None:
    rewrite(data / "eros" / "objects.parquet", lambda table: table.slice(1))


def object_twice(data: Path) -> None:
    rewrite(data / "eros" / "objects.parquet", lambda table: pa.concat_tables([table.slice(0, 1), table]))


def objects_without_part(data: Path) -> None:
    rewrite(data / "eros" / "objects.parquet", lambda table: table.slice(30))


def strange_part(data: Path) -> None:
    shutil.copy(first(data, "epochs"), data / "eros" / "epochs" / "part-00077.parquet")


def interrupted(data: Path) -> None:
    journal = data / "eros" / ".ingest" / "journal.jsonl"
    lines = [line for line in journal.read_text().splitlines(keepends=True) if '"completed"' not in line]
    journal.write_text("".join(lines))


def no_journal(data: Path) -> None:
    (data / "eros" / ".ingest" / "journal.jsonl").unlink()


def journal_hurt(data: Path) -> None:
    journal = data / "eros" / ".ingest" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], b"{" + lines[1][7:], *lines[2:]]))


def no_toml(data: Path) -> None:
    (data / "eros" / "survey.toml").unlink()


def weights_cut(data: Path) -> None:
    os.truncate(data / "runs" / "old" / "weights.safetensors", 1000)


def other_scaler(data: Path) -> None:
    path = data / "runs" / "old" / "scaler.json"
    record = json.loads(path.read_text())
    record["features"].append("Another")
    record |= {key: [] for key in ("centre", "width", "knots")}
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("damage", "said", "cure"),
    [
        (cut, "part-00000.parquet: has 100 bytes instead of", "--repair"),
        (flip, "does not have the bytes that were written", "--repair"),
        (unsorted, "row 1 (object lm0010k00) is out of order", "--repair"),
        (other_column, "has the columns", "--repair"),
        (epochs_gone, "object lm0010k00 has 17 epochs in B, not 20", "--repair"),
        (features_of_others, "features of other objects", "lcdvt extract eros"),
        (infinite, "the feature Mean_B is infinite", "lcdvt extract eros"),
        (object_gone, "object lm0010k00 is not in objects.parquet", "lcdvt ingest"),
        (object_twice, "1 objects are there twice", "force=True"),
        (objects_without_part, "its objects are not in objects.parquet", "lcdvt ingest"),
        (strange_part, "part-00077.parquet: is a part that no ingest has recorded", "lcdvt ingest"),
        (interrupted, "its ingest was interrupted", "run the same"),
        (no_journal, "journal is missing", "force=True"),
        (journal_hurt, "journal.jsonl:2 is damaged", "force=True"),
        (no_toml, "no survey description", "--repair"),
        (weights_cut, "weights.safetensors", "force=True"),
        (other_scaler, "its scaler knows 5 features", "force=True"),
    ],
)
def test_each_kind_of_damage_is_named_with_its_cure(data, damage, said, cure):
    damage(data)
    findings = [finding for checked in lcdvt.verify(data=data) for finding in checked.findings]
    assert findings
    matching = [finding for finding in findings if said in str(finding)]
    assert matching, findings
    assert cure in matching[0].cure


def test_the_command_ends_with_1_and_writes_json(data, lcdvt, tmp_path):
    sound = lcdvt("verify", "--data", data)
    assert (sound.returncode, "survey eros: sound" in sound.stdout) == (0, True)
    cut(data)
    answer = lcdvt("verify", "eros", "--data", data, "--json", tmp_path / "found.json")
    assert answer.returncode == 1, answer.stderr
    assert "part-00000.parquet: has 100 bytes" in answer.stdout
    (record,) = json.loads((tmp_path / "found.json").read_text())
    assert (record["name"], record["is_sound"], len(record["findings"])) == ("eros", False, 1)
    nowhere = lcdvt("verify", "mars", "--data", data)
    assert nowhere.returncode == 2
    assert "neither a survey nor a run" in nowhere.stderr


def test_a_survey_that_is_being_written_is_not_judged(data):
    with locked(data / "eros" / ".ingest"), pytest.raises(WorkspaceError, match="another process is writing"):
        lcdvt.verify("eros", data=data)
