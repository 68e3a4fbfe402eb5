"""Labels from catalogues: formats, ids as text, positions on the sky, classes without translation."""

import pandas as pd
import pytest

import lcdvt
from lcdvt.errors import InputFileError, LcdvtError
from lcdvt.labels import load_catalogue, parse_radius
from raw_files import write_eros, write_macho

ROWS = [(300.0 + day, 15.0 + day / 100, 0.02, 16.0, 0.03) for day in range(5)]
CATALOGUE = pd.DataFrame(
    {
        "ID": ["lm001", "lm002", "lm009"],
        "Type": ["RRab", "blazar", "CEPH"],
        "RA": [80.0, 81.0, 82.0],
        "DEC": [-69.0, -69.5, -70.0],
    }
)


@pytest.mark.parametrize("kind", ["csv", "parquet", "fits", "vot"])
def test_every_catalogue_format_gives_the_same_labels(tmp_path, workspace, kind):
    from astropy.table import Table

    for star in ("lm001", "lm002", "lm003"):
        write_eros(tmp_path / "eros", star, ROWS)
    path = tmp_path / f"stars.{kind}"
    if kind == "csv":
        CATALOGUE.to_csv(path, index=False)
    elif kind == "parquet":
        CATALOGUE.to_parquet(path)
    else:
        columns = {column: CATALOGUE[column].to_numpy() for column in CATALOGUE}
        columns |= {column: CATALOGUE[column].to_numpy().astype("U8") for column in ("ID", "Type")}
        Table(columns).write(path, format="fits" if kind == "fits" else "votable")
    result = lcdvt.ingest(tmp_path / "eros", catalog=path, jobs=1, features="none")
    objects = lcdvt.open_survey("eros").objects().set_index("object_id")
    assert objects["label"].astype(object).where(objects["label"].notna(), None).to_dict() == {
        "lm001": "RRLYR",
        "lm002": "blazar",
        "lm003": None,
    }
    assert objects.loc["lm001", "ra"] == 80.0
    assert result.labels["unmapped"] == {"blazar": 1}


def test_ids_are_text_however_they_look(tmp_path, workspace):
    toml = 'name = "n"\nbands = ["g"]\n[[formats]]\nid = "{s}"\nfile_name = "(?P<s>.+)[.]txt$"\n'
    toml += 'band = "g"\nmag = 2\nerr = 3\n'
    (tmp_path / "n.toml").write_text(toml)
    (tmp_path / "n").mkdir()
    for star in ("007", "7", "1e3"):
        (tmp_path / "n" / f"{star}.txt").write_text("1 15 0.1\n2 15 0.1\n")
    (tmp_path / "c.csv").write_text("id;class\n007;RRLYR\n7;CEP\n1e3;EB\n")
    lcdvt.ingest(tmp_path / "n", survey=tmp_path / "n.toml", catalog=tmp_path / "c.csv", jobs=1, features="none")
    objects = lcdvt.open_survey("n").objects()
    assert dict(zip(objects["object_id"], objects["label"], strict=True)) == {"007": "RRLYR", "7": "CEP", "1e3": "EB"}


def test_labels_by_position_take_the_nearest_within_the_radius(tmp_path, workspace):
    write_macho(tmp_path / "m", "1.2.3", "R", [(48823.0, -5.0, 0.1)])  # the header says 5.02878 h, −69.171°
    ra, dec = 5.02878 * 15, -69.171
    near = pd.DataFrame({"class": ["EB", "CEP"], "ra": [ra + 1e-4, ra + 5e-3], "dec": [dec, dec]})
    near.to_csv(tmp_path / "c.csv", index=False)
    for radius, expected in (("1arcsec", "EB"), ("0.1arcsec", None)):
        lcdvt.ingest(tmp_path / "m", catalog=tmp_path / "c.csv", match_radius=radius, jobs=1, features="none")
        label = lcdvt.open_survey("macho").objects()["label"][0]
        assert label == expected or (expected is None and pd.isna(label))


def test_a_new_catalogue_relabels_without_reading_the_files_again(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    (tmp_path / "c.csv").write_text("id,class\nlm001,QSO\n")
    result = lcdvt.ingest(tmp_path / "eros", catalog=tmp_path / "c.csv", jobs=1, features="none")
    assert result.nothing_new
    assert lcdvt.open_survey("eros").objects()["label"].tolist() == ["QSO"]


def test_the_catalogue_wins_over_the_class_folder(tmp_path, workspace):
    write_macho(tmp_path / "m" / "RRL", "1.2.3", "R", [(48823.0, -5.0, 0.1)])
    (tmp_path / "c.csv").write_text("id,class\n1.2.3,4\n")
    lcdvt.ingest(tmp_path / "m", catalog=tmp_path / "c.csv", jobs=1, features="none")
    assert lcdvt.open_survey("macho").objects()["label"].tolist() == ["CEP"]


@pytest.mark.parametrize("text", ["1", "near", "-1arcsec", "2deg", ""])
def test_a_radius_needs_a_unit_and_a_sensible_size(text):
    with pytest.raises(InputFileError, match="match-radius"):
        parse_radius(text)


@pytest.mark.parametrize("content", [b"", b"\0\1\2", b"id\nx\n"])
def test_a_useless_catalogue_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "c.csv"
    path.write_bytes(content)
    with pytest.raises(InputFileError, match=r"c\.csv"):
        load_catalogue(path)


def test_matching_by_position_needs_positions(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)  # EROS-2 files carry no position
    (tmp_path / "c.csv").write_text("class,ra,dec\nQSO,80,-69\n")
    with pytest.raises(LcdvtError, match="by id, without --match-radius"):
        lcdvt.ingest(tmp_path / "eros", catalog=tmp_path / "c.csv", match_radius="1arcsec", jobs=1, features="none")
    assert lcdvt.ingest(tmp_path / "eros", jobs=1, features="none").nothing_new, "the light curves are kept"
