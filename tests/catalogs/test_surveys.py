"""Surveys as data: built in, described by a user, wrongly described, and told from their files."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.raw_files import eros_text, hits_text, macho_text, write_eros

import lcdvt
from lcdvt.catalogs.facts import facts
from lcdvt.catalogs.guess_survey import guess_survey
from lcdvt.catalogs.reading.detect import Match, match_survey
from lcdvt.catalogs.reading.files import list_files
from lcdvt.catalogs.registry import builtin_names, builtin_surveys, find_survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.errors import SurveyError
from lcdvt.names import CANONICAL_CLASSES

GOOD = 'name = "mine"\nbands = ["g"]\n[[formats]]\nid = "{s}"\nfile_name = "(?P<s>.+)"\nband = "g"\nmag = 2\nerr = 3\n'


def test_the_issue_s_surveys_are_built_in_and_cite_their_papers():
    assert {"eros", "eros1-csv", "macho", "hits"} <= set(builtin_names())
    for survey in builtin_surveys():
        assert survey.citation
        assert survey.classes.keys() <= {*CANONICAL_CLASSES, "OTHER"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("mag = 2", ""), "no magnitude column"),
        (("err = 3", ""), "constant_error"),
        (('band = "g"', ""), "no band"),
        (('band = "g"', 'band = "x"'), "'x' is not among bands"),
        (("mag = 2", 'mag = "m"'), "header = false"),
        (("mag = 2", "mag = 0"), "counted from 1"),
        (('bands = ["g"]', 'bands = ["g"]\nperiod_range = [5, 1]'), "period_range"),
        (('bands = ["g"]', 'bands = ["g"]\ncolour = "red"'), "unknown key 'colour'"),
        (('bands = ["g"]', 'bands = ["g"]\ntime = { system = "GPS" }'), "'GPS' is not known"),
        (('name = "mine"', 'name = "../mine"'), "names a folder"),
        (('name = "mine"', ""), "'name' is missing"),
        (("(?P<s>.+)", "(?P<s>.+"), "regular expression"),
        (("[[formats]]", "[[formats"), "not valid TOML"),
        (("[[formats]]", "[formats]"), "[formats] has to be written [[formats]]: there may be several."),
        (('bands = ["g"]', 'bands = ["g"]\n[magnitude]\nkind = "brightness"'), "magnitude.kind"),
    ],
)
def test_a_wrong_description_gets_one_clear_sentence(change, said):
    with pytest.raises(SurveyError, match=r"mine\.toml") as refusal:
        survey_from_toml(GOOD.replace(*change), "mine.toml")
    assert said in str(refusal.value)


def test_the_good_description_itself_is_accepted():
    assert survey_from_toml(GOOD, "mine.toml").bands == ("g",)


def test_a_survey_says_whether_its_stars_are_equally_far():
    assert find_survey("eros1-csv").one_distance and find_survey("macho").one_distance
    assert not find_survey("ps1_s82-csv").one_distance
    cluster = survey_from_toml(GOOD.replace("[[", "one_distance = true\n[["), "mine.toml")
    assert cluster.one_distance and not survey_from_toml(GOOD, "mine.toml").one_distance
    assert "distance" in dict(facts(cluster)) and "distance" not in dict(facts(find_survey("hits")))
    with pytest.raises(SurveyError, match="one_distance = 'yes': true or false is needed"):
        survey_from_toml(GOOD.replace("[[", "one_distance = 'yes'\n[["), "mine.toml")


def test_a_survey_under_a_name_of_the_user_s_own_is_shown_from_the_workspace(tmp_path, lcdvt_here):
    data = tmp_path / "data"
    write_eros(tmp_path / "raw", "lm001", [(300.0 + day, 15.0 + day % 7 / 9, 0.02, 16.0, 0.03) for day in range(20)])
    lcdvt.ingest(tmp_path / "raw", name="clouds", data=data, jobs=1, features="none")
    shown = lcdvt_here("surveys", "show", "clouds", "--data", data)
    assert shown.returncode == 0, shown.stderr
    assert find_survey("eros").title in shown.stdout and "in the workspace: 1 objects" in shown.stdout
    described = lcdvt_here("surveys", "show", "clouds", "--toml", "--data", data)
    assert survey_from_toml(described.stdout, "clouds.toml").name == "eros"
    unknown = lcdvt_here("surveys", "show", "hubble", "--data", data)
    assert (unknown.returncode, "'hubble' is not known" in unknown.stderr) == (2, True)


def test_an_unknown_survey_lists_the_known():
    with pytest.raises(SurveyError, match="macho") as refusal:
        find_survey("hubble")
    assert "surveys new" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "name", "survey"),
    [
        (eros_text("lm0010k1", [(300.0, 15, 0.1, 16, 0.1)]), "renamed.txt", "eros"),
        (macho_text("1.2.3", "B", [(48823.0, -5, 0.1)]), "renamed.txt", "macho"),
        (hits_text([(57070.0, 20, 0.1)]), "renamed.txt", "hits"),
    ],
)
def test_content_tells_the_survey_whatever_the_name(text, name, survey):
    matching = [
        found.name for found in builtin_surveys() if isinstance(match_survey(found, name, text.encode()), Match)
    ]
    assert matching == [survey]


def test_bom_crlf_and_latin1_headers_do_not_matter():
    text = macho_text("1.2.3", "B", [(48823.0, -5, 0.1)]).replace("#MJD", "#MJD é").replace("\n", "\r\n")
    for content in (b"\xef\xbb\xbf" + text.encode(), text.encode("latin-1")):
        assert isinstance(match_survey(find_survey("macho"), "lc_1.2.3.B.mjd", content), Match)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("dear diary\n", ""),
        ("oid,hjd,mjd,mag,magerr,catflags,filter,ra,dec\n1,2,3,15,0.1,0,zr,1,2\n", "; nearest: ztf (it has no column "),
    ],
)
def test_an_unknown_file_is_named_in_one_sentence_with_the_surveys_that_are_nearest(tmp_path: Path, text, near):
    (tmp_path / "notes.txt").write_text(text)
    with pytest.raises(SurveyError, match=r"notes\.txt is from no survey known here") as refusal:
        guess_survey(list_files([tmp_path], set()))
    said = str(refusal.value)
    assert f"known here{near}" in said and "`lcdvt surveys new NAME FILE`" in said
    assert "\n" not in said and said.count(" (it has no column") <= 3


def test_a_shared_format_asks_unless_the_folder_says(tmp_path: Path):
    for folder in ("somewhere", "catalina"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "all.csv").write_text("id,band,time,mag,err\n1,V_CSS,53000,15,0.1\n")
    with pytest.raises(SurveyError, match="survey="):
        guess_survey(list_files([tmp_path / "somewhere"], set()))
    assert guess_survey(list_files([tmp_path / "catalina"], set())).name == "catalina-csv"


def test_two_surveys_in_one_folder_ask_which(tmp_path: Path):
    write_eros(tmp_path, "lm0010k1", [(300.0, 15, 0.1, 16, 0.1)])
    (tmp_path / "lc_1.2.3.B.mjd").write_text(macho_text("1.2.3", "B", [(48823.0, -5, 0.1)]))
    with pytest.raises(SurveyError, match="eros or macho"):
        guess_survey(list_files([tmp_path], set()))


def test_class_names_numbers_and_folders_are_translated():
    macho = find_survey("macho")
    names = {
        "CEPH": "CEP",
        "4": "CEP",
        "10": "EB",
        "7": "LPV",
        "RRL": "RRLYR",
        "3": "RRLYR",
        "QSO": "QSO",
        "ML": "ML",
        "11": "OTHER",
    }
    assert {name: macho.canonical_class(name) for name in names} == names
    assert macho.folder_class("periodic") is None
    assert macho.folder_class("1") is None
    assert macho.folder_class("NV") == "NV"


def test_the_manuals_example_and_keys_are_true():
    """docs/surveys.md: its TOML reads, and every key of a survey and of a format is explained there."""
    import re
    from dataclasses import fields

    from lcdvt.catalogs.file_format import Format
    from lcdvt.epochs.clean import STEPS, find_rule

    manual = (Path(__file__).parents[2] / "docs" / "surveys.md").read_text(encoding="utf-8")
    steps, example = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)
    survey = survey_from_toml(example, "example.toml")
    match = match_survey(survey, "s1_g.csv", b"hjd,mag,magerr\n3000.5,15,0.1\n")
    assert isinstance(match, Match)
    assert (match.groups["star"], match.groups["band"]) == ("s1", "g")
    described = survey_from_toml(GOOD.replace("[[formats]]", steps + "[[formats]]"), "steps.toml")
    assert len(find_rule(described.clean, "steps")) == len(STEPS)
    for key in fields(Format):
        assert re.search(rf"`{key.name}\b", manual), key.name


def test_the_crosswalk_knows_the_names_of_the_great_catalogues():
    from lcdvt.catalogs.crosswalk import class_by_scheme, crosswalk

    assert set(crosswalk()) == {"ogle", "gcvs", "gaia", "scope", "simbad"}
    for names in crosswalk().values():
        assert set(names.values()) <= {*CANONICAL_CLASSES, "OTHER"}
        assert {"CEP", "EB", "LPV", "RRLYR"} <= set(names.values())
    names = {"RRAB/BL": "RRLYR", "EA/SD:": "EB", "M:": "LPV", "EW|ELL": "EB", "DCEP(B)": "CEP", "acv": "OTHER"}
    assert {name: class_by_scheme("gcvs", name) for name in names} == names
    assert class_by_scheme("gaia", "ACV|CP|MCP|ROAM|ROAP|SXARI") == "OTHER"
    assert class_by_scheme("simbad", "RR*") == "RRLYR"
    assert class_by_scheme("gcvs", "nonsense") is None


def test_a_survey_s_own_names_come_before_its_scheme():
    toml = GOOD.replace("[[formats]]", 'class_scheme = "gcvs"\n[classes]\nOTHER = ["SR"]\n[[formats]]')
    survey = survey_from_toml(toml, "mine.toml")
    assert [survey.canonical_class(name) for name in ("SR", "Mira", "M", "rrab", "XX")] == [
        "OTHER",
        "Mira",
        "LPV",
        "RRLYR",
        "XX",
    ]
    assert survey.folder_class("M") is None  # a folder of that name is a field more often than a class
    with pytest.raises(SurveyError, match="class_scheme"):
        survey_from_toml(toml.replace("gcvs", "mine"), "mine.toml")


def test_a_zero_point_of_dates_is_said_with_all_its_digits() -> None:
    assert find_survey("asas").time.describe().startswith("HJD − 2450000 (")


def test_the_docs_table_of_dates_has_every_survey_with_its_source():
    docs = Path(__file__).parents[2] / "docs"
    code = "import sys; sys.path.insert(0, sys.argv[1]); import make_surveys; print(make_surveys.table_of_dates())"
    answer = subprocess.run([sys.executable, "-c", code, str(docs)], capture_output=True, encoding="utf-8", check=True)
    rows = {line.split("`")[1]: line for line in answer.stdout.splitlines()[2:]}
    assert list(rows) == list(builtin_names())
    assert "JD (utc); HJD" not in rows["asassn"]
    assert "HJD (utc); JD (utc)" in rows["asassn"]
    assert rows["gaia-alerts"].split(" | ")[2].startswith("as in the files: JD (tcb)")
    for name, row in rows.items():
        assert find_survey(name).time.source in row


def test_show_and_the_page_of_a_survey_say_the_same(tmp_path):
    from typer.testing import CliRunner

    from lcdvt.cli.main import app

    docs = Path(__file__).parents[2] / "docs"
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import make_surveys; "
        "make_surveys.write(pathlib.Path(sys.argv[2]))"
    )
    subprocess.run([sys.executable, "-c", code, str(docs), str(tmp_path)], check=True)
    assert {path.stem for path in (tmp_path / "surveys").glob("*.md")} == set(builtin_names())
    for survey in builtin_surveys():
        assert survey.archive and survey.know and survey.citation, survey.name
        page = (tmp_path / "surveys" / f"{survey.name}.md").read_text(encoding="utf-8")
        shown = CliRunner(env={"COLUMNS": "4000"}).invoke(app, ["surveys", "show", survey.name]).stdout
        for _, words in facts(survey):
            assert " ".join(words.split()) in " ".join(shown.split())
            assert words.replace("|", "&#124;").replace("<", "&lt;") in page
