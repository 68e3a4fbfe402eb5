"""Small real digits for tests: scikit-learn's 8×8 images, and USPS itself where its folder is given."""

import os
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

from lcdvt.experiments.digits.files import Digits, read_digits

# Two test workers share two cores: more threads only get into each other's way.
torch.set_num_threads(1)


def small_digits(name: str) -> Digits:
    """Return scikit-learn's digits, every third one for the test."""
    x, y = load_digits(return_X_y=True)
    x, is_test = (x / 16).astype(np.float32), np.arange(len(y)) % 3 == 0
    return Digits(name, x[~is_test], y[~is_test].astype(np.int64), x[is_test], y[is_test].astype(np.int64))


def usps_or_small_digits() -> Digits:
    folder = os.environ.get("LCDVT_REAL_DATA")
    return read_digits("usps", Path(folder) / "digits") if folder else small_digits("usps")
