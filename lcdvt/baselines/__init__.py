"""Rivals of DVT: the named rows of every table, each with fit and predict_proba."""

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.rows import DEFAULT_ROWS, ROWS, Row, predict_target
from lcdvt.errors import DatasetError

__all__ = ["DEFAULT_ROWS", "ROWS", "DatasetError", "Row", "TransferProblem", "predict_target"]
