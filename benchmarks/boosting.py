"""How much sooner boosting is done than scikit-learn's, in processor time side by side, and whether it says the same.

Random features of random classes (seed 0), rows with weights, the settings of a teacher of DVT, one thread each: the
least of three fits of each, in turn. scikit-learn gets the features as numbers of bins, as lcdvt gave them to it before
it had loops of its own, because its search for weighted bins alone takes longer than all of this.

    python benchmarks/boosting.py [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from lcdvt.baselines.boosting import HistogramBoosting, weighted_thresholds
from lcdvt.baselines.one_thread import one_thread
from lcdvt.baselines.weighted import WeightedConfig, boosting

SIZES = ((300, 40, 5), (600, 40, 5), (4000, 60, 4), (12000, 60, 4))
ROUNDS = 3
CONFIG = WeightedConfig()


def problem(rows: int, features: int, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features as numbers of bins, classes and weights."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(rows, features))
    x[generator.random(x.shape) < 0.05] = np.nan
    score = 2 * np.nan_to_num(x[:, 0]) + x[:, 1:].sum(axis=1, where=~np.isnan(x[:, 1:])) / 4
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    weights = generator.gamma(2.0, size=rows)
    for column in x.T:
        known = ~np.isnan(column)
        column[known] = np.searchsorted(weighted_thresholds(column, weights, CONFIG.bins), column[known])
    return x, y, weights


def theirs() -> HistGradientBoostingClassifier:
    """Return scikit-learn's with a teacher's settings."""
    ours = boosting(CONFIG, seed=0)
    names = (
        "max_iter", "learning_rate", "max_leaf_nodes", "min_samples_leaf", "max_bins", "max_features", "random_state",
    )  # fmt: skip
    return HistGradientBoostingClassifier(early_stopping=False, **{name: getattr(ours, name) for name in names})


def fit(make: Callable[[], Any], x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the processor time of a fit, and what it says of its rows."""
    begin = time.process_time()
    model = make().fit(x, y, sample_weight=weights)
    return time.process_time() - begin, model.predict_proba(x)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = {}

    def ours() -> HistogramBoosting:
        return boosting(CONFIG, seed=0)

    with one_thread():
        fit(ours, *problem(100, 3, 3))  # compiles
        for size in SIZES:
            rows = problem(*size)
            times = {ours: [], theirs: []}
            answers = {}
            for _ in range(ROUNDS):
                for make, taken in times.items():
                    seconds, answers[make] = fit(make, *rows)
                    taken.append(seconds)
            least = {make: min(taken) for make, taken in times.items()}
            ratio, furthest = least[theirs] / least[ours], float(np.abs(answers[theirs] - answers[ours]).max())
            found[str(size[0])] = {"times_faster": ratio, "largest_difference": furthest}
            print(
                f"{size[0]:6,} rows, {size[1]} features, {size[2]} classes: {1e3 * least[ours]:4.0f} ms, scikit-learn "
                f"{1e3 * least[theirs]:5.0f} ms, {ratio:.1f} times; probabilities differ by {furthest:.1g} at most"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
