"""Forests and boosting of a few trees each, for runs whose quality nobody asks for."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

HELPERS: Final = Path(__file__).parent
IN_EVERY_PROCESS: Final = {"PYTHONPATH": os.pathsep.join([str(HELPERS / "at_start"), str(HELPERS.parent)])}
"""Variables with which every Python that is started, and every `WarmCommand`, has fewer trees and steps."""
FEW_STEPS: Final = 150
"""Of DVT where a command does not say how many: a third of the default's."""


@contextmanager
def fewer_trees(steps: int | None = None) -> Iterator[None]:
    """Let teachers and rivals have a few trees each, in this process and in its forks, while the block runs.

    Parameters
    ----------
    steps
        How long the default preset trains; None for as long as ever.
    """
    from lcdvt.baselines.boosting import HistogramBoosting
    from lcdvt.baselines.quick_forest import QuickForest
    from lcdvt.baselines.weighted import WeightedBothSurveys
    from lcdvt.dvt import config
    from lcdvt.protocol import novelty

    def smaller(learner: type, name: str, most: int) -> None:
        fit = learner.fit  # type: ignore[attr-defined]

        def fit_few(self: Any, *arguments: Any, **named: Any) -> Any:
            setattr(self, name, min(getattr(self, name), most))
            return fit(self, *arguments, **named)

        patches.enter_context(mock.patch.object(learner, "fit", fit_few))

    choose = WeightedBothSurveys.choose_weight

    def choose_of_two(self: Any, problem: Any, seed: int) -> float:
        whole = self.config
        self.config = replace(whole, target_weights=whole.target_weights[:2], folds=2)
        try:
            return choose(self, problem, seed)
        finally:
            self.config = whole

    with ExitStack() as patches:
        smaller(QuickForest, "n_estimators", 15)
        smaller(HistogramBoosting, "max_iter", 10)
        patches.enter_context(mock.patch.object(WeightedBothSurveys, "choose_weight", choose_of_two))
        patches.enter_context(mock.patch.object(novelty, "ISOLATION_TREES", 20))
        # with fewer a star may be in the sample of every tree
        patches.enter_context(mock.patch.object(novelty, "TREES", 40))
        if steps is not None:
            taught = config.preset("taught")
            shorter = replace(taught, training=replace(taught.training, steps=steps))
            patches.enter_context(mock.patch.dict(config._PRESETS, {"taught": shorter}))
        yield
