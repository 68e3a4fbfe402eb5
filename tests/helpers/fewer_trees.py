"""Forests and boosting of a few trees each, for runs whose quality nobody asks for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def fewer_trees() -> Iterator[None]:
    """Let teachers and rivals have a few trees each, in this process and in its forks, while the block runs."""
    from lcdvt.baselines.boosting import QuicklyBinnedBoosting
    from lcdvt.baselines.quick_forest import QuickForest
    from lcdvt.protocol import novelty

    def smaller(learner: type, name: str, most: int) -> None:
        fit = learner.fit  # type: ignore[attr-defined]

        def fit_few(self: Any, *arguments: Any, **named: Any) -> Any:
            setattr(self, name, min(getattr(self, name), most))
            return fit(self, *arguments, **named)

        patch.setattr(learner, "fit", fit_few)

    with pytest.MonkeyPatch.context() as patch:
        smaller(QuickForest, "n_estimators", 15)
        smaller(QuicklyBinnedBoosting, "max_iter", 10)
        patch.setattr(novelty, "ISOLATION_TREES", 20)
        patch.setattr(novelty, "TREES", 40)  # with fewer a star may be in the sample of every tree
        yield
