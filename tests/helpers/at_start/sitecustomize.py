"""Every Python that starts with this folder in PYTHONPATH reads this first: what it trains has fewer trees and steps.

Stories start shells, notebooks and pools, in which no fixture can change anything (`helpers.fewer_trees`).
"""

import sys


class _BeforeTraining:
    """Waits for the room that trains, so that a Python which does not train imports nothing more."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "lcdvt.protocol.draw":
            sys.meta_path.remove(self)
            from helpers.fewer_trees import FEW_STEPS, fewer_trees

            self.kept = fewer_trees(FEW_STEPS)  # without a name for it all would be put back at once
            self.kept.__enter__()


WAITING = _BeforeTraining()
sys.meta_path.insert(0, WAITING)
