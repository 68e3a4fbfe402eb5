"""A report of surveys whose stars, classes and citation are written to break it."""

from pathlib import Path

import pandas as pd
import pytest
from helpers.report_pages import Page

import lcdvt
from lcdvt.reports.write import report

pytestmark = pytest.mark.usefixtures("few_trees")

STAR = "<script>alert({number})</script>"
CLASS = '"><img src=x onerror=alert(2)>&$x_1$'
CITATION = "<b onclick='alert(3)'>A & B 2020</b>"
SURVEY = f"""
name = "{{name}}"
citation = "{CITATION}"
bands = ["g", "<i>r"]
clean = "none"
[[formats]]
name = "one CSV of all stars"
separator = ","
header = true
id = "{{{{id}}}}"
band_column = "band"
time = "time"
mag = "mag"
err = "err"
"""


@pytest.fixture(scope="module")
def page(two_surveys, tmp_path_factory) -> Page:
    folder = tmp_path_factory.mktemp("names")
    for name in ("old", "new"):
        _write_survey(lcdvt.open_survey(name, two_surveys), folder / name)
        lcdvt.ingest(
            folder / name / "stars.csv",
            survey=folder / name / "survey.toml",
            catalog=folder / name / "labels.csv",
            features=["Amplitude", "Std", "Skew", "Eta_e", "Period", "Period_fap"],
            data=folder / "data",
            jobs=1,
        )
    lcdvt.transfer(
        "old", "new", "20%", data=folder / "data", name="run", members=2, repeats=1, steps=5, rows=["svm-target"]
    )
    return Page(report("run", folder / "run.html", data=folder / "data").path)


def _write_survey(stored: "lcdvt.StoredSurvey", folder: Path) -> None:
    folder.mkdir()
    (folder / "survey.toml").write_text(SURVEY.format(name=stored.name))
    labels = stored.objects().set_index("object_id")["label"].dropna()
    chosen = labels[labels.isin(["RRLYR", "EB"])].index[:40]
    number = {name: STAR.format(number=place) for place, name in enumerate(chosen)}
    epochs = stored.epochs.to_table().to_pandas().rename(columns={"object_id": "id", "mjd": "time", "mag_err": "err"})
    epochs = epochs[epochs["id"].isin(chosen)]
    epochs["id"] = epochs["id"].map(number)
    both = pd.concat([epochs, epochs.assign(band="<i>r", mag=epochs["mag"] + 1)])
    both[["id", "band", "time", "mag", "err"]].to_csv(folder / "stars.csv", index=False)
    catalogue = pd.DataFrame({"id": number.values(), "label": labels[chosen].replace("RRLYR", CLASS).to_list()})
    catalogue.to_csv(folder / "labels.csv", index=False)


def test_no_name_becomes_part_of_the_page(page):
    tags = {tag for tag, _, _ in page.elements}
    assert not tags & {"script", "img", "i"}
    assert not [name for _, attributes, _ in page.elements for name in attributes if name.startswith("on")]
    assert "<script" not in page.source.lower()


def test_names_are_shown_as_they_are(page):
    stars = [text for text in page.texts("b") if text.startswith("<script>alert(")]
    assert stars, "light curves are titled by their star"
    assert CLASS in page.texts("th")
    assert any(CLASS in text for text in page.texts("text")), "drawings name the class too"
    assert CITATION in page.texts("dd")
    assert "<i>r" in page.texts("li")


def test_alternative_texts_name_the_star(page):
    assert any(f"Light curve of {STAR.format(number='')[:14]}" in str(each) for each in page.attributes("svg"))


def test_the_policy_forbids_scripts_and_requests(page):
    policy = next(each["content"] for each in page.attributes("meta") if "http-equiv" in each)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
