"""Labels of OGLE for the first year of Rubin, both simulated: the commands of the README with other surveys."""

import json
import os
import shlex

import pytest
from helpers.warm_commands import WarmCommand

COMMANDS = """
lcdvt simulate ogle ogle/ --objects 50 --seed 1
lcdvt simulate lsst lsst/ --objects 60 --seed 1
lcdvt ingest ogle/
lcdvt ingest lsst/
lcdvt transfer --source ogle --target lsst --labels 5% --members 2 --repeats 1 --rows forest-source
lcdvt report ogle-lsst
""".strip().splitlines()


@pytest.mark.slow
def test_labels_of_ogle_are_carried_over_to_the_first_year_of_lsst(tmp_path):
    variables = {key: value for key, value in os.environ.items() if key != "LCDVT_DATA"}
    said = {}
    for command in COMMANDS:
        running = WarmCommand(shlex.split(command)[1:], variables, tmp_path)
        said[command], complained = running.communicate()
        assert running.wait() == 0, f"{command}\n{said[command]}\n{complained}"
        assert "simulated" in said[command], command
    for survey, objects in (("ogle", 50), ("lsst", 60)):
        stored = json.loads((tmp_path / "lcdvt-data" / survey / "ingest.json").read_text())
        assert stored["simulated"]
        assert f"objects labelled {objects}" in " ".join(said[f"lcdvt ingest {survey}/"].split())
    assert "ogle → lsst (simulated)" in said[COMMANDS[4]]
    page = (tmp_path / "ogle-lsst.html").read_text(encoding="utf-8")
    assert 'class="simulated"' in page
    metrics = json.loads((tmp_path / "lcdvt-data" / "runs" / "ogle-lsst" / "metrics.json").read_text())
    assert metrics["simulated"]
    # The labels do go over: of four classes, guessing would have a quarter right.
    scores = {row["name"]: row["macro_f1"]["mean"] for row in metrics["table"]["rows"]}
    assert set(metrics["table"]["classes"]) == {"EB", "LPV", "QSO", "RRLYR"}
    assert min(scores.values()) > 0.4
