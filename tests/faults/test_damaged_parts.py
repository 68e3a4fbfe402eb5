"""Parts damaged after the fact: noticed at opening, named, and rebuilt from the same input, and only they."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.raw_files import write_eros, write_macho_bulk

import lcdvt
from lcdvt.errors import WorkspaceError

FEATURES = ["Mean", "Std"]


def rows(star: int, epochs: int) -> list[tuple[float, float, float, float, float]]:
    return [
        (300.0 + day, 15.0 + (star * 7 + day * 13) % 50 / 100, 0.02, 16.0 + day % 7 / 10, 0.03) for day in range(epochs)
    ]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for star in range(60):
        write_eros(tmp_path / "eros", f"lm0010k{star:02d}", rows(star, 30))
    # A star that was read before: its second file is left out, also when its part is rebuilt.
    write_eros(tmp_path / "eros" / "zz_again", "lm0010k03", rows(3, 12))
    return tmp_path / "eros"


def tables(folder: Path) -> dict[str, object]:
    """Every table of a survey as text, so that a gap equals a gap."""
    paths = sorted(folder.rglob("*.parquet"))
    return {str(path.relative_to(folder)): pq.read_table(path).to_pandas().to_csv() for path in paths}


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
@pytest.mark.parametrize("places", [["epochs"], ["features"], [".ingest/objects"], ["epochs", "features"]])
def test_a_damaged_part_is_rebuilt_and_the_others_are_not_touched(raw, workspace, damage, places):
    lcdvt.ingest(raw, jobs=1, features=FEATURES)
    root = workspace / "eros"
    whole = tables(root)
    written = {path: path.stat().st_mtime_ns for path in root.rglob("part-*.parquet")}
    for place in places:
        damage(sorted((root / place).glob("part-*.parquet"))[-1])
    result = lcdvt.ingest(raw, jobs=1, repair=True)
    name = sorted((root / "epochs").iterdir())[-1].name
    assert result.repaired == [name]
    assert tables(root) == whole
    for path, when in written.items():
        if path.name != name:
            assert path.stat().st_mtime_ns == when, "a whole part was made again"
    assert lcdvt.ingest(raw, jobs=1, repair=True).repaired == []


@pytest.mark.parametrize(
    ("place", "column", "look"),
    [
        ("features/part-00000.parquet", b"Std_R", lambda stored: stored.features()),
        ("objects.parquet", b"label", lambda stored: stored.objects()),
        ("objects.parquet", b"label", lambda stored: list(stored.feature_parts())),
        ("epochs/part-00000.parquet", b"band", lambda stored: list(stored.iter_epochs())),
        ("epochs/part-00000.parquet", b"band", lambda stored: lcdvt.extract(stored.name, FEATURES, jobs=1)),
    ],
)
def test_a_column_whose_name_is_no_text_is_damage_like_any_other(raw, workspace, place, column, look):
    lcdvt.ingest(raw, jobs=1, features=FEATURES)
    path = workspace / "eros" / place
    content = path.read_bytes()
    assert column in content
    path.write_bytes(content.replace(column, b"\x80" * len(column)))
    with pytest.raises(WorkspaceError, match=rf"{path.name}.* is damaged|{path.parent.name} is damaged"):
        look(lcdvt.open_survey("eros"))


@pytest.mark.parametrize("place", ["objects.parquet", "features/part-00000.parquet", "epochs/part-00000.parquet"])
@pytest.mark.parametrize("name", [b"object_ix", b"object_i\x80"])
def test_a_star_is_not_looked_for_where_the_ids_have_another_name(raw, workspace, place, name):
    lcdvt.ingest(raw, jobs=1, features=["Mean", "Period"])
    path = workspace / "eros" / place
    path.write_bytes(path.read_bytes().replace(b"object_id", name))
    with pytest.raises(WorkspaceError, match=rf"{path.name} is damaged .*lcdvt verify eros"):
        lcdvt.open_survey("eros").light_curve("lm0010k03")


def test_a_cut_part_is_named_when_the_survey_is_opened(raw, workspace):
    lcdvt.ingest(raw, jobs=1, features=FEATURES)
    part = sorted((workspace / "eros" / "features").iterdir())[1]
    cut(part)
    with pytest.raises(WorkspaceError, match=rf"{part.name} is damaged.*lcdvt ingest --repair"):
        lcdvt.open_survey("eros")
    with pytest.raises(
        WorkspaceError, match=rf"{part.name} is missing or damaged: run the same command with repair=True"
    ):
        lcdvt.ingest(raw, jobs=1)


def test_parts_of_a_large_file_are_rebuilt_from_it(tmp_path, workspace, monkeypatch):
    monkeypatch.setattr("lcdvt.ingestion.batches.STREAMED_FROM_BYTES", 1000)
    write_macho_bulk(tmp_path / "m", 1, 2, {f"1.2.{star}": rows(star, 200) for star in range(60)})
    lcdvt.ingest(tmp_path / "m", jobs=1, features="none")
    root = workspace / "macho"
    whole = tables(root)
    parts = sorted((root / "epochs").iterdir())
    assert len(parts) > 3
    cut(parts[1])
    parts[-1].unlink()
    assert lcdvt.ingest(tmp_path / "m", jobs=1, repair=True).repaired == [parts[1].name, parts[-1].name]
    assert tables(root) == whole


def test_features_computed_later_are_rebuilt_as_they_were(raw, workspace):
    lcdvt.ingest(raw, jobs=1, features=["Mean"])
    lcdvt.extract("eros", features=["Std", "Amplitude"], jobs=1)
    root = workspace / "eros"
    whole = lcdvt.open_survey("eros").features()
    flip(sorted((root / "features").iterdir())[2])
    cut(sorted((root / "epochs").iterdir())[0])
    assert len(lcdvt.ingest(raw, jobs=1, repair=True).repaired) == 2
    assert lcdvt.open_survey("eros").features().equals(whole)


def test_input_that_is_gone_or_other_is_not_mixed_in(raw, workspace):
    lcdvt.ingest(raw, jobs=1, features="none")
    part = sorted((workspace / "eros" / "epochs").iterdir())[0]
    victim = next(raw.rglob("lm0010k05.time"))
    text = victim.read_text()
    cut(part)
    victim.write_text(text.replace("15.", "14."))  # as long as before, but another star
    with pytest.raises(WorkspaceError, match=r"part-00000.parquet cannot be rebuilt.*changed since"):
        lcdvt.ingest(raw, jobs=1, repair=True)
    victim.write_text(text + "\n")
    with pytest.raises(WorkspaceError, match=r"lm0010k05.time, which has changed since: repair with the same input"):
        lcdvt.ingest(raw, jobs=1, repair=True)
    victim.unlink()
    with pytest.raises(WorkspaceError, match=r"lm0010k05.time, which is not among what was given"):
        lcdvt.ingest(raw, jobs=1, repair=True)
    assert not list((workspace / "eros").rglob("*.unfinished"))
    victim.write_text(text)  # the same bytes with another date
    assert lcdvt.ingest(raw, jobs=1, repair=True).repaired == [part.name]


def test_a_journal_hurt_in_its_middle_throws_no_part_away(raw, workspace):
    lcdvt.ingest(raw, jobs=1, features="none")
    journal = workspace / "eros" / ".ingest" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    parts = sorted((workspace / "eros" / "epochs").iterdir())
    journal.write_bytes(b"".join([*lines[:3], lines[3].replace(b'"number"', b'"nvmber"'), *lines[4:]]))
    with pytest.raises(WorkspaceError, match=r"journal.jsonl:4 is damaged"):
        lcdvt.ingest(raw, jobs=1)
    assert sorted((workspace / "eros" / "epochs").iterdir()) == parts
    journal.write_bytes(b"".join(lines) + b'{"batch": {"numb')  # a kill in the middle of a line
    assert lcdvt.ingest(raw, jobs=1).nothing_new


def test_the_other_files_of_a_survey_are_written_again(raw, workspace):
    lcdvt.ingest(raw, jobs=1, features="none", catalog="none")
    root = workspace / "eros"
    whole = tables(root)
    cut(root / "objects.parquet")
    (root / "survey.toml").write_text("name = ")
    with pytest.raises(WorkspaceError, match=r"objects.parquet is damaged"):
        lcdvt.open_survey("eros")
    lcdvt.ingest(raw, jobs=1, repair=True)
    assert tables(root) == whole
    assert lcdvt.open_survey("eros").survey.name == "eros"
    (root / "ingest.json").write_text("{")
    with pytest.raises(WorkspaceError, match=r"ingest.json is damaged.*catalog=FILE"):
        lcdvt.ingest(raw, jobs=1)
    lcdvt.ingest(raw, jobs=1, catalog="none")
