"""Rivals of DVT: the named rows of every table, each with fit and predict_proba."""

from lcdvt.baselines.problem import BaselineError, TransferProblem
from lcdvt.baselines.registry import DEFAULT_ROWS, ROWS, Row, predict_target

__all__ = ["DEFAULT_ROWS", "ROWS", "BaselineError", "Row", "TransferProblem", "predict_target"]
