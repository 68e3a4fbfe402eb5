"""Rivals of DVT: the named rows of every table, each with fit and predict_proba."""

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.rows import ROWS, Row, predict_target

__all__ = ["ROWS", "Row", "TransferProblem", "predict_target"]
