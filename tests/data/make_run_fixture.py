"""Make tests/data/run-0.1: a run as lcdvt 0.1 saved it, with the probabilities it gave.

Do not run it again after a release: the folder is there to show that old runs still load.
Run it as `python tests/data/make_run_fixture.py FOLDER` from the folder of the project.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.dvt_problems import CLASSES, quick_config, survey_rows

from lcdvt.dataset.scaling import fit_scaler
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.train import train
from lcdvt.results.saved import SavedRun, save_run

FEATURES = ("Amplitude", "PeriodLS", "Skew", "Std")


def main(folder: Path) -> None:
    rows = [survey_rows("old", shift=0.0, seed=1)[0], survey_rows("new", shift=0.7, seed=2)[0]]
    x = np.concatenate([survey.x for survey in rows])
    scaler = fit_scaler(x, np.repeat([0, 1], [len(survey.x) for survey in rows]), FEATURES, "rank")
    scaled = [type(survey)(survey.name, scaler.apply(survey.x), survey.y) for survey in rows]
    config = quick_config("tied", steps=60)
    result = train(config, TrainingData.from_surveys(scaled, CLASSES, 3), (1, 2, 3))
    save_run(folder, SavedRun.from_training(config, result, scaler, ("old", "new"), CLASSES, {"macro_f1": 97.0}))
    new = survey_rows("new", shift=0.7, seed=9, objects=20)[0].x
    probability = predict(result.model, torch.from_numpy(scaler.apply(new, 1)), 1).probability.numpy()
    table = pd.DataFrame(np.hstack([new, probability]), columns=[*FEATURES, *CLASSES])
    table.to_csv(folder / "expected.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
