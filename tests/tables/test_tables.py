"""The table: what is bold, italic and marked, in every format; names from data do no harm."""

import csv
import io
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from lcdvt.errors import LcdvtError
from lcdvt.evaluate import RowScores, Score, Spread
from lcdvt.tables.formats import FORMATS, render, to_rich
from lcdvt.tables.published import PUBLISHED, PUBLISHED_MARK, published_rows
from lcdvt.tables.record import from_json
from lcdvt.tables.table import Circumstances, ResultTable, TableRow, build_table

CLASSES = ("EB", "QSO", "RRLYR")
NASTY = "[red]|<b>&_%$#{}~^\\`*@\x1b[31m\n\"'--"


def row(name: str, *f1_by_draw: tuple[float, float, float], upper: bool = False, model: str = "Model") -> RowScores:
    draws = tuple(Score(dict(zip(CLASSES, f1, strict=True)), sum(f1) / 3, 0.1) for f1 in f1_by_draw)
    return RowScores(name, f"Training of {name}", model, upper, draws)


def circumstances(draws: int = 2, **changes: object) -> Circumstances:
    counts = {"EB": 2, "QSO": 1, "RRLYR": 5}
    known = Circumstances(
        ("eros",), "hits", CLASSES, (counts,) * draws, {"EB": 25, "QSO": 5, "RRLYR": 70}, tuple(range(draws)), 10, True
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def example(**changes: object) -> ResultTable:
    scores = [
        row("first", (0.80, 0.30, 0.90), (0.82, 0.32, 0.90)),
        row("second", (0.70, 0.50, 0.90), (0.70, 0.50, 0.90)),
        row("bound", (0.99, 0.99, 0.99), (0.99, 0.99, 0.99), upper=True),
    ]
    return build_table(scores, circumstances(2, **changes))


def ours(table: ResultTable) -> dict[str, TableRow]:
    return {entry.name: entry for entry in table.rows if not entry.is_published}


def test_upper_bounds_stand_first_and_are_never_best() -> None:
    table = example()
    assert [entry.name for entry in table.rows[:3]] == ["bound", "first", "second"]
    assert not any(cell.is_best for cell in ours(table)["bound"].cells)


def test_the_best_rival_of_each_column_is_marked_and_equals_share() -> None:
    rows = ours(example())
    assert [cell.is_best for cell in rows["first"].cells] == [True, False, True, False]
    assert [cell.is_best for cell in rows["second"].cells] == [False, True, True, True]


def test_deviation_over_draws_and_none_for_one_draw() -> None:
    assert ours(example())["first"].cells[0].text == "81.0 ± 1.4"
    single = build_table([row("first", (0.8, 0.3, 0.9))], circumstances(draws=1))
    assert ours(single)["first"].cells[0].text == "80.0"
    assert any("one label draw" in note for note in single.notes)


def test_a_class_that_no_draw_has_is_a_dash() -> None:
    scores = [row("first", (0.8, 0.3, 0.9)), RowScores("second", "T", "M", False, (Score({"EB": 0.5}, 0.5, 0.1),))]
    rows = ours(build_table(scores, circumstances(draws=1)))
    assert rows["second"].cells[1].text == "–" and not rows["second"].cells[1].is_best


def test_published_figures_stand_beside_and_are_not_compared() -> None:
    table = example()
    published = [entry for entry in table.rows if entry.is_published]
    assert len(published) == 5 and not any(cell.is_best for entry in published for cell in entry.cells)
    ensemble = published[-1]
    assert (ensemble.training, ensemble.model, ensemble.data) == ("Multi-task ensemble", "DVT", PUBLISHED_MARK)
    assert [cell.text for cell in ensemble.cells] == ["88 ± 1.7", "88 ± 2.7", "95 ± 0.9", "90.3"]
    assert published[0].is_upper_bound and not published[2].is_upper_bound


def test_published_rows_belong_to_single_pairs() -> None:
    assert published_rows(("EROS",), "Macho") == PUBLISHED["eros", "macho"]
    assert published_rows(("eros", "hits"), "macho") == () and published_rows(("eros",), "ogle") == ()
    assert published_rows(("macho",), "eros")[3].f1["QSO"] == Spread(0.17, 0.091)


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("csv", "json")])
def test_what_must_stand_under_the_table(name: str) -> None:
    text = render(example(), name)
    assert "(simulated)" in text and PUBLISHED_MARK in text
    for part in ("EB 2, QSO 1, RRLYR 5", "QSO 5", "Seeds: 0, 1", "2 label draws, 10 members each"):
        assert part in text


def test_real_data_are_not_called_simulated() -> None:
    for name in FORMATS:
        text = render(example(simulated=False), name)
        assert '"simulated": false' in text if name == "json" else "simulated" not in text


def test_label_counts_that_differ_are_listed_by_seed() -> None:
    table = example(labels_per_class=({"EB": 1}, {"EB": 2}))
    assert any("seed 0: EB 1; seed 1: EB 2" in note for note in table.notes)


def test_markdown_bold_and_italic() -> None:
    lines = {line.split("|")[1].strip(): line for line in render(example(), "markdown").splitlines() if "|" in line}
    assert lines["Training of first"].split("|")[3:7] == [
        " **81.0 ± 1.4** ",
        " 31.0 ± 1.4 ",
        " **90.0 ± 0.0** ",
        " 67.3 ± 0.9 ",
    ]
    assert "*99.0 ± 0.0*" in lines["*Training of bound*"]
    assert f"_{PUBLISHED_MARK}_" in lines


def test_html_bold_and_italic() -> None:
    text = render(example(), "html")
    assert "<td><strong>81.0 ± 1.4</strong></td>" in text and "<td><em>99.0 ± 0.0</em></td>" in text


def test_terminal_bold_and_italic() -> None:
    console = Console(width=160, force_terminal=True, color_system="standard", file=io.StringIO())
    console.print(to_rich(example()))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[1m81.0 ± 1.4\x1b[0m" in text
    assert "\x1b[3m99.0 ± 0.0\x1b[0m" in text
    assert PUBLISHED_MARK.split()[0] in text and "eros → hits (simulated)" in text


def test_latex_has_the_structure_of_a_booktabs_table() -> None:
    text = render(example(), "latex")
    assert r"\textbf{81.0 $\pm$ 1.4}" in text and r"\textit{99.0 $\pm$ 0.0}" in text
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")].splitlines()
    widths = {line.count(" & ") for line in body if line.endswith(r"\\") and "multicolumn" not in line}
    assert widths == {5} and r"\begin{tabular}{@{}llrrrr@{}}" in text
    for name in ("table*", "tabular", "minipage"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    assert text.isascii()


def wide_table() -> ResultTable:
    """The paper's five classes, and rows with the longest names."""
    classes = ("CEP", "EB", "LPV", "QSO", "RRLYR")
    draws = tuple(Score(dict.fromkeys(classes, 0.5 + draw / 10), 0.5 + draw / 10, 0.1) for draw in range(2))
    names = [("Source + weighted target labels", "Gradient boosting"), ("Multi-task top cycle consistency", "DVT")]
    scores = [RowScores(model, training, model, False, draws) for training, model in names]
    counts = dict.fromkeys(classes, 3)
    return build_table(scores, Circumstances(("eros",), "macho", classes, (counts,) * 2, counts, (0, 1), 10, True))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_and_fits_a_journals_page(tmp_path: Path) -> None:
    greek = example(sources=("δ Sct Ж é",), class_mix={"δ Sct Ж é": 1})
    head = r"\documentclass[a4paper,twocolumn]{article}\usepackage[T1]{fontenc}\usepackage{booktabs}"
    head += r"\usepackage[margin=1.5cm]{geometry}\begin{document}" + "\n"
    for name, table in (("nasty", nasty_table()), ("greek", greek), ("wide", wide_table())):
        text = head + render(table, "latex") + "\\end{document}\n"
        (tmp_path / f"{name}.tex").write_text(text, encoding="utf-8")
        command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Missing character" not in done.stdout
        assert name == "nasty" or "Overfull" not in done.stdout, done.stdout


def test_csv_has_a_number_in_every_column() -> None:
    rows = list(csv.DictReader(io.StringIO(render(example(), "csv"))))
    by_name = {entry["row"]: entry for entry in rows}
    assert float(by_name["first"]["EB mean"]) == pytest.approx(81) and by_name["first"]["data"] == "simulated"
    assert by_name["bound"]["upper bound"] == "yes"
    assert rows[-1]["data"] == PUBLISHED_MARK and rows[-1]["QSO std"] == "2.7000" and rows[-1]["macro F1 std"] == ""


def test_json_holds_every_draw_and_makes_the_same_table_again() -> None:
    table = example()
    record = json.loads(render(table, "json"))
    first = record["rows"][0]
    assert first["draws"][1]["f1"]["QSO"] == 0.32 and first["f1"]["QSO"]["mean"] == pytest.approx(0.31)
    assert record["published"][-1]["f1"]["EB"] == {"mean": 0.88, "deviation": pytest.approx(0.017)}
    assert from_json(render(table, "json"), "table.json") == table


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "table.json is not a table that lcdvt wrote"),
        ("[]", "table.json is not a table that lcdvt wrote"),
        ('{"version": 1}', "table.json is not a table that lcdvt wrote"),
        ('{"version": 99}', "of version 99, this lcdvt reads 1; update"),
    ],
)
def test_other_json_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(LcdvtError, match=sentence):
        from_json(text, "table.json")


def nasty_table() -> ResultTable:
    f1 = Score({NASTY: 0.5}, 0.5, 0.1)
    scores = [RowScores("a", NASTY, NASTY, False, (f1,)), RowScores("b", "=1+1", NASTY, True, (f1,))]
    about = Circumstances((NASTY,), NASTY, (NASTY,), ({NASTY: 1},), {NASTY: 3}, (0,), None, False)
    return build_table(scores, about)


def test_names_from_data_do_no_harm() -> None:
    table = nasty_table()
    for name in ("markdown", "latex", "html", "csv"):
        assert "\x1b" not in render(table, name)
    assert "<b>" not in render(table, "html") and "&lt;b&gt;&amp;" in render(table, "html")
    markdown = render(table, "markdown")
    assert "<b>" not in markdown
    cells = {line.replace("\\|", "").count("|") for line in markdown.splitlines() if line.startswith("|")}
    assert cells == {5}
    latex = render(table, "latex")
    # a bare bracket or star after a line's end would be read as an option of the line break
    assert "[red]" not in latex
    assert r"{[}red{]}\textbar{}\textless{}b\textgreater{}\&\_\%\$\#\{\}" in latex
    assert r"\textbackslash{}" in latex and "-{}-" in latex
    rows = list(csv.reader(io.StringIO(render(table, "csv"))))
    assert {len(entry) for entry in rows} == {9} and rows[1][2] == "'=1+1"
    assert from_json(render(table, "json"), "table.json") == table


def test_markup_in_names_is_shown_on_the_terminal_not_run() -> None:
    console = Console(width=200, file=io.StringIO())
    console.print(to_rich(nasty_table()))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]|<b>" in text and "\x1b" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("δ Sct", r"$\delta$ Sct"),
        ("Λ", r"$\Lambda$"),
        ("λ", r"$\lambda$"),
        ("Ω", r"$\Omega$"),
        ("é", "é"),
        ("Ж", "{[}U+0416{]}"),
    ],
)
def test_latex_letters(text: str, expected: str) -> None:
    from lcdvt.tables.escapes import latex

    assert latex(text) == expected


@pytest.mark.parametrize(
    ("scores", "about", "sentence"),
    [
        ([], circumstances(), "at least one row"),
        ([row("first", (0.8, 0.3, 0.9))], circumstances(draws=2), "row first has 1 draws where 2 were made"),
        ([row("first", (0.8, 0.3, 0.9))], circumstances(draws=1, labels_per_class=()), "label counts of 0 draws"),
    ],
)
def test_scores_that_make_no_table_are_refused(scores: list[RowScores], about: Circumstances, sentence: str) -> None:
    with pytest.raises(LcdvtError, match=sentence):
        build_table(scores, about)


def test_an_unknown_format_lists_the_known() -> None:
    with pytest.raises(LcdvtError, match="no table format pdf: choose from markdown, latex, html, csv, json"):
        render(example(), "pdf")
