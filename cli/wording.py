"""What the library says, in the words of the command line.

The library's sentences are written for Python: `force=True`, `labels=5%`. On the command line the same options are
called `--force` and `--labels 5%`.
"""

import re
from typing import Final

EXIT_INTERRUPTED: Final = 130
"""128 + SIGINT, as shells have it."""
INTERRUPTED: Final = "lcdvt: interrupted; what was finished is kept, run the same command again to go on."
OPTIONS: Final = (
    "augment catalog classes clean dask data device doubtful_labels engine features force format html jobs "
    "join_ids join_radius labels labels_from like match_radius members merge mode n name noise objects "
    "only_answers out per_class period_range port preset repair repeats replicates retrain rows run scaling score "
    "seed source source_labels steps survey target training_stars trials unlabelled update way who years"
).split()
_OPTION: Final = re.compile(rf"(?<![\w.`=/-])({'|'.join(OPTIONS)})=(True\b)?")


def in_options(sentence: str) -> str:
    """Return the sentence with `name=value` as `--name value`.

    Examples
    --------
    >>> in_options("mine exists: use force=True to overwrite it, or name=… for another.")
    'mine exists: use --force to overwrite it, or --name … for another.'
    >>> in_options("match_radius=2: give an angle.")
    '--match-radius 2: give an angle.'
    """
    return _OPTION.sub(lambda found: f"--{found[1].replace('_', '-')}" + ("" if found[2] else " "), sentence)
