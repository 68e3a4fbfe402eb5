"""One thread for boosting and linear algebra: who trains draws spreads them over processes instead.

To look for the libraries that have threads of their own takes milliseconds each time, with torch loaded as long as a
tree or two; so they are looked for once. scikit-learn's and numpy's are there as soon as these are imported.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import sklearn.ensemble  # noqa: F401  # its threads are to be found
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


@cache
def _libraries() -> Any:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Let compiled loops have one thread while the block runs."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limited
