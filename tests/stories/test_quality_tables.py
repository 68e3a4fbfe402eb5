"""docs/method.md's tables are made of docs/quality.json, and by the rules that the page states."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_quality", DOCS / "make_quality.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_tables_of_its_scores(made: ModuleType) -> None:
    page = made.PAGE.read_text(encoding="utf-8")
    assert made.filled(page, made.parts(made.read_scores())) == page, "run `python docs/make_quality.py`"


def test_best_and_margin_are_of_rows_that_are_no_upper_bound(made: ModuleType) -> None:
    def row(*macro: float) -> dict[str, list[float]]:
        return {"macro": list(macro), "calibration_error": [0.02, 0.04]}

    rows = {
        "forest-upper-bound": row(99.0, 99.0),
        "default": row(90.0, 92.0),
        "boosting-both": row(89.0, 91.0),
        "forest-both": row(91.0, 92.0),
        "dvt-top-cycle": row(98.0, 98.0),
    }
    text = made.table({"eros1→catalina@5%": rows}, {"eros1→catalina@5%": {**rows, "default": row(95.0, 95.0)}})
    lines = dict(line.strip("| ").split(" | ") for line in text.splitlines() if "---" not in line)
    assert lines["row"] == "EROS-1 → Catalina 5 %"
    assert lines["forest-both"] == "**91.5 ± 0.5**"
    assert lines["default"] == "91.0 ± 1.0" and lines["svm-target"] == "–"
    assert lines["calibration error of default"] == "0.030"
    assert lines["default minus the best row without DVT"] == "−0.5"
    assert lines["the same on stars never used in development"] == "+3.5"


def test_a_page_without_the_marks_is_refused(made: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no place for 'pairs'"):
        made.filled("nothing", {"pairs": "| a |"})
