import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lcdvt.cli.features import _home, app
from lcdvt.errors import SettingsError
from lcdvt.features.table import FEATURES


def test_the_list_names_every_feature(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["--json", str(tmp_path / "features.json")])
    assert result.exit_code == 0
    written = json.loads((tmp_path / "features.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in written] == list(FEATURES)
    assert CliRunner().invoke(app, ["show", "Std", "--json", str(tmp_path / "std.json")]).exit_code == 0
    assert json.loads((tmp_path / "std.json").read_text(encoding="utf-8"))["name"] == "Std"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Eta_e", ["von Neumann", "Kim et al. 2014", "w = 1/Δt²"]),
        ("Freq1_harmonics_amplitude_0", ["refused", "does not whiten"]),
        ("Period", ["all, one value"]),
    ],
)
def test_show_explains(name: str, words: list[str]) -> None:
    result = CliRunner().invoke(app, ["show", name])
    assert result.exit_code == 0
    for word in words:
        assert word in result.stdout


def test_an_unknown_name_gets_its_neighbours() -> None:
    result = CliRunner().invoke(app, ["show", "eta"])
    assert isinstance(result.exception, SettingsError)
    assert "Eta_e" in str(result.exception)


def test_listing_needs_nothing_heavy() -> None:
    code = (
        "import sys; from lcdvt.cli.features import app; app(['show', 'Std'], standalone_mode=False);"
        "sys.exit(any(name in sys.modules for name in ('numba', 'torch', 'pandas', 'pyarrow', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_place_that_is_named_exists() -> None:
    root = Path(__file__).parents[2]
    for spec in FEATURES.values():
        assert (root / _home(spec)).exists(), spec.name
    assert _home(FEATURES["DRW_tau"]) == "lcdvt/features/families/all_bands.py"
