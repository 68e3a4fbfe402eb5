"""Compile what an ingest needs before it begins: once, each process other functions, and not in silence.

What is compiled is found by doing the work itself on two made-up stars, feature family by feature family: so nothing
is compiled that was not asked for, and no list of functions and types has to be kept true.
"""

import gc
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module

import numpy as np
import pyarrow as pa

from lcdvt.compiled.cache import is_complete, mark_complete
from lcdvt.compiled.collecting import no_collecting
from lcdvt.features.config import FeatureConfig
from lcdvt.features.extraction import extract_table
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.names import BAND, MAG, MAG_ERR, MJD, OBJECT_ID
from lcdvt.parallel.executors import IN_THIS_PROCESS, Workers, run_batches
from lcdvt.parallel.progress import Progress, silent

# Above and below the number of epochs from which on periodograms are transforms instead of sums; short ones in three
# bands are few enough together to be compared with templates.
LONG, SHORT = 100, 25
EVERY_SURVEY = tuple(
    FeatureConfig(bands, DEFAULT_FEATURES, period_range=(0.5, 20.0)) for bands in (("V",), ("B", "R"), ("g", "r", "i"))
)


def compile_ahead(
    config: FeatureConfig, workers: Workers = IN_THIS_PROCESS, progress: Progress = silent, *, epochs: int = LONG
) -> None:
    """Compile the functions of some features, unless it was done before.

    Parameters
    ----------
    config
        The features.
    workers
        Who compiles; processes share the work. Nodes of a cluster compile what they find missing.
    progress
        Called with a note such as "compiling 24 functions, once: 12 of 24".
    epochs
        How long the made-up light curves are.
    """
    tasks = [(each, epochs) for each in _by_family(config)]
    what = _name_of(tasks)
    if config.engine != "fast" or workers.dask is not None or not tasks or is_complete(what):
        return
    functions = _number_of_functions(config)

    def say(done: int) -> None:
        progress(0, None, f"compiling {functions} functions, once: {done} of {functions}")

    _compile_all(tasks, workers, say)
    mark_complete(what)
    progress(0, None, f"compiling {functions} functions, once: done")


def number_of_all_functions() -> int:
    """Return how many functions `compile_everything` compiles."""
    return max(map(_number_of_functions, EVERY_SURVEY))


def compile_everything(workers: Workers, progress: Progress = silent) -> None:
    """Compile what any survey needs, of one, two or more bands, and with few epochs or many; reading included.

    Parameters
    ----------
    workers
        Who compiles; processes share the work.
    progress
        Called with how many of the functions are compiled.
    """
    _read_lines()
    by_survey = [[(each, epochs) for each in _by_family(config)] for config in EVERY_SURVEY for epochs in (LONG, SHORT)]
    missing = [tasks for tasks in by_survey if not is_complete(_name_of(tasks))]
    functions = number_of_all_functions()

    def say(done: int) -> None:
        if done < functions:
            progress(done, functions)

    _compile_all([task for tasks in missing for task in tasks], workers, say)
    for tasks in missing:
        mark_complete(_name_of(tasks))
    progress(functions, functions)


def _compile_all(tasks: list[tuple[FeatureConfig, int]], workers: Workers, say: Callable[[int], None]) -> None:
    """Compile what each task needs, and say again and again how many functions that are by now."""
    compiled: frozenset[str] = frozenset()
    say(0)
    with no_collecting():
        for names in run_batches(_compile, tasks, workers.at_most(max(len(tasks), 1))):
            # Processes that share a function both compile it: it counts once.
            compiled |= names
            say(len(compiled))
        # What the compiler leaves behind, some ten megabytes, stays: to look through it would take as long as many of
        # the functions did, now and again at the end.
        gc.freeze()


def _name_of(tasks: list[tuple[FeatureConfig, int]]) -> str:
    """Return a short name for what has been compiled once these tasks are done."""
    names = "\n".join(repr((each.bands, each.features, bool(each.period_range), epochs)) for each, epochs in tasks)
    return hashlib.sha256(names.encode()).hexdigest()[:12]


def _read_lines() -> None:
    """Scan a text as any survey's, with a number that has too many digits and a band in a column, and sort epochs."""
    from lcdvt.catalogs.reading.scan import scan_texts
    from lcdvt.catalogs.reading.text import match_tokens
    from lcdvt.epochs.kernels import Wanted, arrange

    line = b"star 1.5 18.12345678901234567890 g\n"
    scan = scan_texts(
        [line], [0], separator=0, comment=-1, numeric_columns=(1, 2), text_columns=(0, 3), identity_columns=1
    )
    band = match_tokens(scan, 1, np.frombuffer(b"g\0", dtype=np.uint8).reshape(1, 2), np.zeros(1, dtype=np.int8))
    no_sentinels = np.empty((2, 0))
    wanted = Wanted(
        np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64), 1, no_sentinels, no_sentinels, 0.0, (-np.inf, np.inf)
    )
    time, mag = scan.values.T
    arrange(np.zeros(1, dtype=np.int32), band, time, mag, np.ones(1), wanted)


def _by_family(config: FeatureConfig) -> Iterator[FeatureConfig]:
    """Yield requests that together ask for the same features, each for one family."""
    from lcdvt.features.fast import SINGLE_BAND_FAMILIES

    wanted = set(config.single_band_names())
    for members, _ in SINGLE_BAND_FAMILIES.values():
        names = tuple(name for name in members if name in wanted)
        if names:
            yield replace(config, features=names, period_range=None)
    for names in (config.two_band_names(), config.all_bands_names()):
        if names:
            yield replace(config, features=tuple(names), period_range=None)
    if config.wants_period:
        yield replace(config, features=config.period_names())


def _number_of_functions(config: FeatureConfig) -> int:
    """Return how many kernels the modules have that compute the features; not all are needed for every star."""
    from lcdvt.compiled.kernel import KERNELS
    from lcdvt.features.period.columns import MANY_BANDS

    import_module("lcdvt.features.fast")
    if config.wants_period:
        import_module(f"lcdvt.features.period.{'joint' if len(config.bands) >= MANY_BANDS else 'search'}")
    return sum(each.py_func.__module__.startswith("lcdvt.features") for each in KERNELS)


def _compile(task: tuple[FeatureConfig, int]) -> frozenset[str]:
    """Compute features of two made-up stars; return the names of the features' functions compiled by now."""
    from lcdvt.compiled.kernel import compiled_names

    config, epochs = task
    extract_table(_stars(config.bands, epochs), config)
    return frozenset(name for name in compiled_names() if name.startswith("lcdvt.features"))


def _stars(bands: tuple[str, ...], epochs: int) -> pa.Table:
    generator = np.random.default_rng(0)
    rows = 2 * len(bands) * epochs
    time = np.sort(generator.uniform(0.0, 60.0, (2 * len(bands), epochs)), axis=1).ravel()
    turns = time / 1.7
    # The first star is a sine; the second is eclipsed, for which the period search has functions of its own.
    is_eclipsed = (np.arange(rows) >= rows // 2) & (turns % 1.0 < 0.1)
    signal = np.where(np.arange(rows) < rows // 2, 0.3 * np.sin(2.0 * np.pi * turns), 1.0 * is_eclipsed)
    return pa.table(
        {
            OBJECT_ID: np.repeat(["first", "second"], len(bands) * epochs),
            BAND: np.tile(np.repeat(bands, epochs), 2),
            MJD: time,
            MAG: 18.0 + signal + generator.normal(0.0, 0.05, rows),
            MAG_ERR: np.full(rows, 0.05),
        }
    )
