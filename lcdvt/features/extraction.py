"""Epochs in, features out: one batch here, many batches on every core or on a cluster."""

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lcdvt.errors import SettingsError, first_line
from lcdvt.features.config import Engine, FeatureConfig, complete_wavelengths, order_bands
from lcdvt.features.feets.defects import REFUSED, refusal
from lcdvt.features.gate import EPOCH_REASONS, PASSED, REASONS, TOO_FEW_EPOCHS, Curves, Gated, GateReport, gate
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.names import BAND, MAG, MAG_ERR, MJD, OBJECT_ID
from lcdvt.parallel.executors import Workers, run_batches

if TYPE_CHECKING:
    import pandas as pd
    from astropy.table import Table

REPORT_KEY: Final = b"lcdvt.gate"
EPOCH_COLUMNS: Final = (OBJECT_ID, BAND, MJD, MAG, MAG_ERR)
UNITS: Final = {MJD: "days as numbers (Time.mjd has them)", MAG: "magnitudes", MAG_ERR: "magnitudes"}
# Large enough to hide what a batch costs to send, small enough to keep two cores equally busy.
OBJECTS_PER_BATCH: Final = 200
ENGINE_MODULES: Final = {"fast": "lcdvt.features.fast", "feets": "lcdvt.features.feets.engine"}
OTHER_BAND: Final = "band not among those asked for"


def extract(
    epochs: "pd.DataFrame | pa.Table | Table",
    features: str | Iterable[str] = DEFAULT_FEATURES,
    engine: Engine = "fast",
    jobs: int | None = 1,
    *,
    bands: Iterable[str] | None = None,
    period_range: tuple[float, float] | None = None,
    pairing_days: float = 0.0,
    wavelengths: Mapping[str, float] | None = None,
    dask: str | None = None,
) -> "pd.DataFrame":
    """Compute features of every object.

    Parameters
    ----------
    epochs
        A table of pandas, Arrow or astropy with the columns object_id, band, mjd, mag, mag_err, in any order of rows.
        The units that astropy's columns name are brought to days and magnitudes.
    features
        "all", "fats" (all but the Fourier parameters at the period), or feature names (`lcdvt features` lists them).
    engine
        "fast" for this package's kernels, "feets" for the installed feets.
    jobs
        Worker processes; None takes every core.
    bands
        Blue to red; from the data if not given.
    period_range
        Shortest and longest period in days; with it the columns of the period search are added (Period,
        Period_fap, Period_power and, but for "fats", the Fourier parameters at the period).
    pairing_days
        Two-band features compare epochs at most this far apart; 0 asks for equal times, as FATS does. Give 0.1 where
        the bands were exposed one after the other.
    wavelengths
        Nanometres, for each band whose name does not tell; features of colour are NaN where they are unknown.
    dask
        A Dask scheduler's address, or "local".

    Returns
    -------
    One row per object, sorted by object_id, NaN where a feature has no value. `extraction_report` tells why.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> night = np.arange(50.0)
    >>> epochs = pd.DataFrame({"object_id": "star", "band": "V", "mjd": night, "mag": np.sin(night), "mag_err": 0.1})
    >>> extract(epochs, ["Mean", "Std"]).round(3).to_dict("records")
    [{'object_id': 'star', 'Mean_V': 0.003, 'Std_V': 0.708}]
    """
    table = _sorted_by_object(_as_table(epochs))
    given = dict(wavelengths or {})
    of_epochs = _distinct(table, BAND)
    chosen_bands = tuple(bands) if bands is not None else order_bands(of_epochs, given)
    if bands is not None and not set(chosen_bands) & set(of_epochs or chosen_bands):
        raise SettingsError(
            f"bands={', '.join(chosen_bands) or 'none'}: the epochs are of {', '.join(of_epochs) or 'none'}; "
            "name those, or leave bands out."
        )
    chosen_features = features if isinstance(features, str) else tuple(features)
    # An empty table names no band; its result still has to have columns.
    config = FeatureConfig(
        chosen_bands or ("",),
        chosen_features,
        engine,
        period_range,
        pairing_days=pairing_days,
        wavelengths=complete_wavelengths(chosen_bands, given),
    )
    if engine == "feets" and config.is_named_set:
        warnings.warn(
            f"left out, as feets does not compute them as FATS does: {refusal(tuple(REFUSED))}.", stacklevel=2
        )
    batch = partial(extract_table, config=config)
    parts = list(run_batches(batch, _batches(table), Workers(jobs, dask), begin_here=True))
    report = sum((extraction_report(part) for part in parts), GateReport())
    frame = pa.concat_tables(part.replace_schema_metadata() for part in parts).to_pandas()
    frame.attrs[REPORT_KEY.decode()] = report.to_json()
    return frame


def extract_table(epochs: pa.Table, config: FeatureConfig) -> pa.Table:
    """Compute the features of one batch in this process.

    Parameters
    ----------
    epochs
        The epochs table, an object's rows together.
    config
        What to compute; it alone decides the columns.

    Returns
    -------
    object_id and one float64 column per feature; the gate's report is in the schema's metadata.
    """
    objects, codes = _encode_objects(epochs)
    band_codes = pc.index_in(epochs[BAND].cast(pa.string()), pa.array(config.bands, pa.string()))
    known = np.asarray(band_codes.is_valid())
    keys = codes * len(config.bands) + np.asarray(band_codes.fill_null(0))
    columns = [_floats(epochs[name]) for name in (MJD, MAG, MAG_ERR)]
    order = None if known.all() and np.all(keys[1:] >= keys[:-1]) else np.argsort(keys, kind="stable")
    if order is not None:
        order = order[known[order]]
        keys, columns = keys[order], [column[order] for column in columns]
    bounds = np.searchsorted(keys, np.arange(len(objects) * len(config.bands) + 1))
    gated = gate(columns[0], columns[1], columns[2], bounds, config.minimum_epochs)
    # Where bands are joined, those with few epochs count, because they add up.
    every = None
    if config.joins_bands:
        is_all = np.all(gated.reasons != TOO_FEW_EPOCHS)
        every = gated.curves if is_all else gate(columns[0], columns[1], columns[2], bounds, 1).curves
    # What overflows, or is 0/0 on a flat curve, is NaN in the end.
    with np.errstate(all="ignore"):
        values = _values(gated, every, config, len(objects))
    report = _report(gated, len(objects), config.bands, int((~known).sum()))
    # Columns that lie in one piece are taken as they are.
    by_column = np.asfortranarray(values)
    arrays = [objects, *(pa.array(by_column[:, i]) for i in range(by_column.shape[1]))]
    result = pa.Table.from_arrays(arrays, names=[OBJECT_ID, *config.columns()])
    return result.replace_schema_metadata({REPORT_KEY: report.to_json()})


def extraction_report(features: "pa.Table | pd.DataFrame") -> GateReport:
    """Return why features are NaN, as counted when `features` was computed (empty if it is not known)."""
    if isinstance(features, pa.Table):
        text = (features.schema.metadata or {}).get(REPORT_KEY)
    else:
        text = features.attrs.get(REPORT_KEY.decode())
    return GateReport.from_json(text) if text else GateReport()


def _values(gated: Gated, every: Curves | None, config: FeatureConfig, objects: int) -> np.ndarray:
    """Return the feature matrix in the order of `config.columns()`."""
    bands = len(config.bands)
    single, pairs = config.single_band_names(), config.two_band_names()
    engine = import_module(ENGINE_MODULES[config.engine])
    parts = [np.empty((objects, 0))]
    if single:
        parts.append(engine.single_band(gated.curves, single).reshape(objects, bands * len(single)))
    if pairs:
        parts.append(engine.colours(gated.curves, bands, pairs, config.pairing_days))
    if config.wants_period:
        from lcdvt.features.period.columns import search_periods

        parts.append(search_periods(gated.curves, every, config))
    if every is not None and config.all_bands_names():
        from lcdvt.features.fast import all_bands

        parts.append(all_bands(every, config))
    return np.concatenate(parts, axis=1)


def _report(gated: Gated, objects: int, bands: tuple[str, ...], other_band_epochs: int) -> GateReport:
    curves = {}
    by_band = gated.reasons.reshape(objects, len(bands))
    for column, band in enumerate(bands):
        for reason, number in zip(*np.unique(by_band[:, column], return_counts=True), strict=True):
            if reason != PASSED:
                curves[f"{band}: {REASONS[int(reason)]}"] = int(number)
    epochs = {EPOCH_REASONS[reason]: int(gated.epochs_dropped[reason]) for reason in EPOCH_REASONS}
    epochs[OTHER_BAND] = other_band_epochs
    return GateReport(objects, curves, {reason: number for reason, number in epochs.items() if number})


def _as_table(epochs: "pd.DataFrame | pa.Table | Table") -> pa.Table:
    """Return the epochs' columns as text and numbers, or say which of them is neither."""
    ours = ", ".join(EPOCH_COLUMNS)
    if not (hasattr(epochs, "columns") and hasattr(epochs, "__getitem__")):
        raise SettingsError(
            f"the epochs are given as {type(epochs).__name__}: give a table of pandas, Arrow or astropy with the "
            f"columns {ours}."
        )
    names = epochs.column_names if isinstance(epochs, pa.Table) else list(getattr(epochs, "colnames", epochs.columns))
    missing = [name for name in EPOCH_COLUMNS if name not in names]
    if missing:
        raise SettingsError(
            f"the epochs lack the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: rename yours to {ours}."
        )
    twice = [name for name in EPOCH_COLUMNS if names.count(name) > 1]
    if twice:
        raise SettingsError(f"the epochs have two columns named {twice[0]}: keep one of them.")
    try:
        table = epochs.select(list(EPOCH_COLUMNS)) if isinstance(epochs, pa.Table) else _from_frame(epochs)
    except pa.ArrowException as error:
        raise SettingsError(
            f"the epochs have a column of several kinds ({first_line(error)}): give ids and bands as text, "
            "all else as numbers."
        ) from error
    for place, name in enumerate(EPOCH_COLUMNS):
        # ids and bands as text, whether they come as bytes (astropy's columns from FITS), as a category, or as numbers
        wanted, hint = (pa.string(), "text") if name in (OBJECT_ID, BAND) else (pa.float64(), UNITS[name])
        try:
            table = table.set_column(place, name, table[name].cast(wanted))
        except pa.ArrowException as error:
            raise SettingsError(
                f"the epochs' column {name} is of type {table[name].type} ({first_line(error)}): give {hint}."
            ) from error
    return table


def _from_frame(epochs: Any) -> pa.Table:
    """Return the columns of a table of pandas or astropy."""
    columns = epochs[list(EPOCH_COLUMNS)]
    frame = columns
    if hasattr(epochs, "colnames"):  # astropy's table
        factors = {name: _factor(columns[name], name) for name in (MJD, MAG, MAG_ERR)}
        frame = columns.to_pandas()
        frame = frame.assign(**{name: factor * frame[name] for name, factor in factors.items() if factor != 1})
    for name in EPOCH_COLUMNS:
        stored = frame[name].dtype
        if isinstance(stored, np.dtype) and not stored.isnative:  # FITS has the high byte first, Arrow cannot
            frame = frame.assign(**{name: frame[name].astype(stored.newbyteorder("="))})
    return pa.Table.from_pandas(frame, preserve_index=False)


def _factor(column: Any, name: str) -> float:
    """Return what brings an astropy column to days or magnitudes; 1 where it does not say its unit."""
    from astropy import units

    unit = getattr(column, "unit", None)
    unit = getattr(unit, "function_unit", unit)  # of mag(AB): mag
    if unit is None or isinstance(unit, units.UnrecognizedUnit) or unit == units.dimensionless_unscaled:
        return 1.0
    ours = units.day if name == MJD else units.mag
    try:
        return float(unit.to(ours))
    except units.UnitConversionError as error:
        raise SettingsError(f"the epochs' column {name} is in {unit}: give {UNITS[name]}.") from error


def _sorted_by_object(table: pa.Table) -> pa.Table:
    if table[OBJECT_ID].null_count:
        raise SettingsError(
            f"{table[OBJECT_ID].null_count} epochs have no {OBJECT_ID}: name their object or leave them out."
        )
    return table.sort_by([(OBJECT_ID, "ascending"), (BAND, "ascending")])


def _distinct(table: pa.Table, column: str) -> list[str]:
    return [str(value) for value in table[column].unique().to_pylist() if value is not None]


def _batches(table: pa.Table) -> Iterator[pa.Table]:
    """Cut a table sorted by object into pieces that never split an object; an empty table is one piece."""
    codes = _encode_objects(table)[1]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))[::OBJECTS_PER_BATCH]
    edges = [*starts.tolist(), len(table)] if len(starts) else [0, 0]
    for start, stop in itertools.pairwise(edges):
        # A copy, not a slice: a slice is sent to a worker with all of the table behind it, and Dask takes two slices
        # of one table for the same batch.
        yield table.take(np.arange(start, stop))


def _encode_objects(epochs: pa.Table) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct ids in order of appearance, and each row's place among them."""
    encoded = epochs[OBJECT_ID].cast(pa.string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary, np.asarray(encoded.indices, dtype=np.int64)


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    return np.ascontiguousarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
