"""Labels from catalogues: formats, ids as text, positions on the sky, classes without translation."""

import gzip

import numpy as np
import pandas as pd
import pytest
from astropy import units
from helpers.raw_files import write_eros, write_macho

import lcdvt
from lcdvt.errors import InputFileError, LcdvtError
from lcdvt.ingestion.label_table import read_catalogue_table
from lcdvt.ingestion.labels import load_catalogue, parse_radius

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


def test_rows_of_several_classes_within_the_radius_are_told(tmp_path, workspace, lcdvt_here):
    write_macho(tmp_path / "m", "1.2.3", "R", [(48823.0, -5.0, 0.1)])
    ra, dec = 5.02878 * 15, -69.171
    rows = {"class": ["EB", "CEP", "eb"], "ra": [ra, ra + 1e-4, ra + 2e-4], "dec": [dec] * 3}
    for classes, said in (("EB CEP eb", True), ("EB EB eb", False)):
        pd.DataFrame(rows | {"class": classes.split()}).to_csv(tmp_path / "c.csv", index=False)
        answer = lcdvt_here(
            "ingest", tmp_path / "m", "--catalog", tmp_path / "c.csv", "--match-radius", "1arcsec", "--jobs", "1",
            "--features", "none",
        )  # fmt: skip
        assert answer.returncode == 0, answer.stderr
        assert ("1 stars have rows of several classes within the radius; the nearest counts" in answer.stdout) is said
        assert lcdvt.open_survey("macho").objects()["label"].tolist() == ["EB"]


def test_a_new_catalogue_relabels_without_reading_the_files_again(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    (tmp_path / "c.csv").write_text("id,class\nlm001,QSO\n")
    result = lcdvt.ingest(tmp_path / "eros", catalog=tmp_path / "c.csv", jobs=1, features="none")
    assert result.nothing_new
    assert lcdvt.open_survey("eros").objects()["label"].tolist() == ["QSO"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,class\n1,RRLYR\n", "none of its ids is that of a star here: it has 1, eros has lm001"),
        ("id,class\nlm001,\n", None),
        ("id,class\n1,EB\nlm001,RRLYR\n", None),
    ],
)
def test_a_catalogue_of_other_ids_is_told(tmp_path, workspace, lcdvt_here, text, said):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    (tmp_path / "c.csv").write_text(text)
    answer = lcdvt_here(
        "ingest", tmp_path / "eros", "--catalog", tmp_path / "c.csv", "--jobs", "1", "--features", "none"
    )
    assert answer.returncode == 0, answer.stderr
    told = [line.strip() for line in answer.stdout.splitlines() if "none of its ids" in line]
    assert told == ([said] if said else [])


def test_the_catalogue_wins_over_the_class_folder(tmp_path, workspace):
    write_macho(tmp_path / "m" / "RRL", "1.2.3", "R", [(48823.0, -5.0, 0.1)])
    (tmp_path / "c.csv").write_text("id,class\n1.2.3,4\n")
    lcdvt.ingest(tmp_path / "m", catalog=tmp_path / "c.csv", jobs=1, features="none")
    assert lcdvt.open_survey("macho").objects()["label"].tolist() == ["CEP"]


@pytest.mark.parametrize("text", ["1", 1, "near", "-1arcsec", "2deg", ""])
def test_a_radius_needs_a_unit_and_a_sensible_size(text):
    with pytest.raises(InputFileError, match="match_radius"):
        parse_radius(text)


def test_a_radius_may_be_an_angle_of_astropy():
    assert parse_radius(0.05 * units.arcmin) == pytest.approx(3)


@pytest.mark.parametrize("content", [b"", b"\0\1\2", b"id\nx\n"])
def test_a_useless_catalogue_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "c.csv"
    path.write_bytes(content)
    with pytest.raises(InputFileError, match=r"c\.csv"):
        load_catalogue(path)


def test_matching_by_position_needs_positions(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)  # EROS-2 files carry no position
    (tmp_path / "c.csv").write_text("class,ra,dec\nQSO,80,-69\n")
    with pytest.raises(LcdvtError, match="by id, and leave match_radius=… out"):
        lcdvt.ingest(tmp_path / "eros", catalog=tmp_path / "c.csv", match_radius="1arcsec", jobs=1, features="none")
    assert lcdvt.ingest(tmp_path / "eros", jobs=1, features="none").nothing_new, "the light curves are kept"


def classes_of(path):
    found = load_catalogue(path)
    return dict(zip(found.ids, found.classes, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffid,class\n7,EB\nx,CEP\n",
        "oid|label\n7|EB\nx|CEP\n",
        "oid\tlabel\n7\tEB\nx\tCEP\n",
        "oid  label\n7    EB\n x \t CEP  \n",
        "star name;object_id;class\nV 1;7;EB\nV 2;x;CEP\n",
        "object id,a b c,id,class\nV 1,a b c,7,EB\nV 2,a b c,x,CEP\n",
        'id, class\n"7", "EB"\nx, CEP\n',
        "id,class,\n7,EB,\nx,CEP,\n",
        "# made by hand, twice\nid,class\n# half\n7,EB\n\nx,CEP\n",
        "id,class\r\n7 ,EB \r\nx,CEP\r\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_separator_and_the_header_are_found(tmp_path, text, packed):
    path = tmp_path / ("c.csv.gz" if packed else "c.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert classes_of(path) == {"7": "EB", "x": "CEP"}


def test_only_a_line_that_begins_with_a_hash_is_a_comment(tmp_path):
    (tmp_path / "c.csv").write_text('#id,class\nid,class,note\nstar#1,EB,"a, #2"\nstar#2,type #3,\n')
    assert classes_of(tmp_path / "c.csv") == {"star#1": "EB", "star#2": "type #3"}


def test_columns_without_a_name_are_not_read(tmp_path):
    """A header torn into thousands of separators took seconds, for columns nobody can ask for."""
    path = tmp_path / "labels.csv"
    path.write_text("id,,class," + "," * 20_000 + "\nstar1,5,RRL" + "," * 20_000 + "\nstar2\n")
    table = read_catalogue_table(path)
    assert table.columns.tolist() == ["id", "class"]
    assert table.to_numpy().tolist() == [["star1", "RRL"], ["star2", ""]]


def test_a_line_with_too_many_values_is_named(tmp_path):
    (tmp_path / "c.csv").write_text("# note\nid class\n1 EB\n2 RR Lyr\n3 EB\n")
    with pytest.raises(InputFileError, match=r"c\.csv:4: 3 values under 2 columns"):
        load_catalogue(tmp_path / "c.csv")


@pytest.mark.parametrize("dtype", ["Int64", "float64", "string"])
def test_whole_numbers_with_gaps_are_whole_numbers(tmp_path, dtype):
    ids = pd.array([7, 8, None], dtype="Int64")
    frame = pd.DataFrame({"id": ids, "class": pd.array([4, None, 1], dtype="Int64")}).astype(dtype)
    frame.to_parquet(tmp_path / "c.parquet")
    found = load_catalogue(tmp_path / "c.parquet")
    assert found.ids.tolist() == ["7", "8"]
    assert found.classes[0] == "4"
    assert pd.isna(found.classes[1])


def test_an_index_of_ids_in_parquet_is_a_column(tmp_path):
    pd.DataFrame({"class": ["EB", "CEP"]}, index=pd.Index(["7", "x"], name="id")).to_parquet(tmp_path / "c.parquet")
    assert classes_of(tmp_path / "c.parquet") == {"7": "EB", "x": "CEP"}


def test_ids_that_differ_by_blanks_are_one_id(tmp_path):
    (tmp_path / "c.csv").write_text("id,class\n7,EB\n7 ,EB\n 7,eb\n8,CEP\n")
    catalogue = load_catalogue(tmp_path / "c.csv")
    joined = catalogue.join(pd.DataFrame({"object_id": ["8", "7", "9"], "ra": np.nan, "dec": np.nan}))
    assert joined["survey_label"].tolist()[:2] == ["CEP", "EB"]
    assert pd.isna(joined["survey_label"][2])
    assert catalogue.conflicts == 0


def test_different_classes_of_one_id_are_counted_and_the_first_counts(tmp_path):
    (tmp_path / "c.csv").write_text("id,class\n1,EB\n1,CEP\n1,QSO\n2,\n2,EB\n3,CEP\n3,EB\n4,EB\n,EB\n,CEP\n")
    catalogue = load_catalogue(tmp_path / "c.csv")
    assert classes_of(tmp_path / "c.csv") == {"1": "EB", "2": "EB", "3": "CEP", "4": "EB"}
    assert catalogue.conflicts == 2


def test_rows_without_id_still_match_by_position(tmp_path):
    (tmp_path / "c.csv").write_text("id,class,ra,dec\n,EB,80,-69\n,CEP,81,-69\n")
    catalogue = load_catalogue(tmp_path / "c.csv", match_radius="1arcsec")
    stars = pd.DataFrame({"object_id": ["a", "b"], "ra": [81.0, 80.0], "dec": [-69.0, -69.0]})
    assert catalogue.join(stars)["survey_label"].tolist() == ["CEP", "EB"]


def test_ogle_s_own_catalogue_is_read_as_it_is_distributed(tmp_path):
    """Written after the byte columns in OGLE's README: no header, the name tells the class."""
    lines = [
        "OGLE-LMC-CEP-0227 F         04:52:15.69 -70:14:31.3  LMC532.01.1234   LMC162.3.45     LMC_SC1 1",
        "OGLE-LMC-RRLYR-00001 RRab   06:02:00.00 +70:30:00.0",
    ]
    (tmp_path / "ident.dat").write_text("\n".join(lines) + "\n")
    catalogue = load_catalogue(tmp_path / "ident.dat")
    objects = pd.DataFrame({"object_id": ["OGLE-LMC-RRLYR-00001", "OGLE-LMC-CEP-0227", "x"]})
    found = catalogue.join(objects)
    assert found["survey_label"].tolist()[:2] == ["RRLYR", "CEP"]
    assert found["ra"].tolist()[:2] == pytest.approx([90.5, 15 * (4 + 52 / 60 + 15.69 / 3600)])
    assert found["dec"].tolist()[:2] == pytest.approx([70.5, -(70 + 14 / 60 + 31.3 / 3600)])


def test_gaia_s_classes_are_found_by_the_archive_s_column_names(tmp_path):
    text = "solution_id,source_id,classifier_name,best_class_name,best_class_score\n1,42,nTransits:5+,RR,0.9\n"
    (tmp_path / "vari.csv").write_text(text)
    found = load_catalogue(tmp_path / "vari.csv").join(pd.DataFrame({"object_id": ["42"]}))
    assert found["survey_label"].tolist() == ["RR"]
