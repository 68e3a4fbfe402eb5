"""Every command of the README runs, in order, in a folder of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.slow
def test_every_command_and_every_line_of_python_runs_in_order(tmp_path):
    # The one file that the README takes for granted: a star of the reader's own survey.
    (tmp_path / "mine").mkdir()
    rows = "".join(f"{2453000 + day * 1.3},{15 + day % 7 / 10},0.02\n" for day in range(30))
    (tmp_path / "mine" / "star7.csv").write_text("HJD,mag,magerr\n" + rows)
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.strip()]
    assert len(commands) > 8
    for command in commands:
        answer = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, f"{command}\n{answer.stdout}\n{answer.stderr}"
    for block in blocks("python"):
        answer = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr


@pytest.mark.slow
def test_the_demo_tells_its_story(tmp_path):
    variables = environment() | {"DEMO": str(tmp_path / "demo"), "DEMO_OBJECTS": "60", "DEMO_DRAWS": "1"}
    answer = subprocess.run(
        ["bash", ROOT / "demo.sh"], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.count("objects") >= 3
    assert "eros → macho (simulated)" in answer.stdout
    assert "simulated, seed 1: share of stars whose period is right" in answer.stdout


def test_the_make_targets_the_readme_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"\bmake ([a-z-]+)", README)
    assert {"demo", "test"} <= set(named)
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        if not link.startswith("http"):
            assert (ROOT / link).exists(), link
