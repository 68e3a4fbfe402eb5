"""Every FATS feature against feets 0.4 (golden/make_golden.py), each tolerance with its reason."""

import numpy as np
import pandas as pd
import pytest

from lcdvt.features import FATS_FEATURES
from lcdvt.features.gate import gate
from lcdvt.features.table import FEATURES, SINGLE_BAND, TWO_BANDS

DIRECT_FORMULA = 1e-6
# Values near zero (Skew of a symmetric curve) have no relative accuracy: 1e-9 is far below any physical meaning.
NEAR_ZERO = 1e-9

# feets' periodogram is the approximate one of Press & Rybicki: its power is off by up to some per cent in short curves,
# and the false-alarm value is a high power of it.
PERIOD_FIT = 0.1
# feets fits sinusoids by Levenberg–Marquardt with numerical derivatives, ending when χ² changes by less than 1.5e-8:
# parameters are then good to some 1e-5 of the strongest amplitude. Ours solve the normal equations.
HARMONIC_AMPLITUDE = 5e-5
# The same in the angle, where the harmonic's own amplitude is as small as a hundredth of the strongest.
HARMONIC_PHASE = 5e-3

# At σ = 0 the likelihood does not depend on τ at all: feets' τ is where rounding errors left the simplex.
NO_TAU_WITHOUT_SIGMA = ("CAR_tau", "CAR_mean")
# FATS' percentile index runs off the end below 20 epochs; feets raises, ours take the last value.
NO_VALUE_BELOW_20_EPOCHS = ("short-12", "short-16")
# Evenly sampled: frequencies mirrored at the sampling frequency have exactly the same power.
TIED_FREQUENCIES = ("dense-regular",)
# After whitening, feets' approximate power puts a frequency on top whose exact power is lower.
FREQUENCY_BY_APPROXIMATION = ("short-12", "short-21")
SAME_FREQUENCY = 1e-9

# Features that feets 0.4 does not have, and so no golden value: a test of their own compares each with a closed form.
NOT_IN_FEETS: tuple[str, ...] = ()
COMPARED = [name for name in FATS_FEATURES if name not in NOT_IN_FEETS]
DIRECT = [name for name in COMPARED if not name.startswith("Freq") and name != "Period_fit"]
AMPLITUDES = [name for name in FEATURES if "harmonics_amplitude" in name]
PHASES = [name for name in FEATURES if "harmonics_rel_phase" in name]


def _pair(fast: pd.DataFrame, golden: pd.DataFrame, feature: str) -> tuple[pd.Series, pd.Series]:
    column = feature if FEATURES[feature].bands_needed == TWO_BANDS else f"{feature}_b"
    expected = golden[feature].dropna()
    return fast.loc[expected.index, column], expected


def test_there_are_sixty_curves_and_every_feature_has_golden_values(golden_values: pd.DataFrame) -> None:
    assert len(golden_values) >= 60
    for name in COMPARED:
        assert golden_values[name].notna().sum() >= 30


@pytest.mark.parametrize("feature", DIRECT)
def test_direct_formulas(fast_values: pd.DataFrame, golden_values: pd.DataFrame, feature: str) -> None:
    ours, expected = _pair(fast_values, golden_values, feature)
    kept = np.ones(len(expected), dtype=bool)
    if feature in NO_TAU_WITHOUT_SIGMA:
        kept &= golden_values.loc[expected.index, "CAR_sigma"] > 0
        assert kept.mean() > 0.8
    if FEATURES[feature].family == "periodic":
        kept &= ~expected.index.isin(TIED_FREQUENCIES)
    np.testing.assert_allclose(ours[kept], expected[kept], rtol=DIRECT_FORMULA, atol=NEAR_ZERO)


def test_curves_without_golden_value_are_the_ones_listed(golden_values: pd.DataFrame) -> None:
    single = [name for name in COMPARED if FEATURES[name].bands_needed == SINGLE_BAND]
    missing = golden_values[single].isna()
    assert set(golden_values.index[missing.any(axis=1)]) == set(NO_VALUE_BELOW_20_EPOCHS)


def test_false_alarm_value(fast_values: pd.DataFrame, golden_values: pd.DataFrame) -> None:
    ours, expected = _pair(fast_values, golden_values, "Period_fit")
    kept = ~expected.index.isin(TIED_FREQUENCIES)
    np.testing.assert_allclose(ours[kept], expected[kept], rtol=PERIOD_FIT, atol=1e-12)


@pytest.fixture(scope="module")
def frequencies(golden_epochs: pd.DataFrame) -> pd.DataFrame:
    from lcdvt.features.families.periodic import compute_with_frequencies

    epochs = golden_epochs[golden_epochs["band"] == "b"]
    lengths = epochs.groupby("object_id", sort=False).size()
    columns = [epochs[name].to_numpy() for name in ("mjd", "mag", "mag_err")]
    curves = gate(*columns, np.concatenate(([0], np.cumsum(lengths))), 10).curves
    return pd.DataFrame(compute_with_frequencies(curves)[1], index=lengths.index, columns=["1", "2", "3"])


def test_whitening_finds_the_same_three_frequencies(frequencies: pd.DataFrame, golden_values: pd.DataFrame) -> None:
    expected = golden_values.loc[frequencies.index, ["frequency_1", "frequency_2", "frequency_3"]].to_numpy()
    different = (np.abs(frequencies / expected - 1) > SAME_FREQUENCY).any(axis=1)
    assert set(frequencies.index[different]) == {*TIED_FREQUENCIES, *FREQUENCY_BY_APPROXIMATION}


@pytest.mark.parametrize("feature", AMPLITUDES + PHASES)
def test_harmonics(fast_values: pd.DataFrame, golden_values: pd.DataFrame, feature: str) -> None:
    ours, expected = _pair(fast_values, golden_values, feature)
    kept = ~expected.index.isin((*TIED_FREQUENCIES, *FREQUENCY_BY_APPROXIMATION))
    difference = np.abs(ours[kept] - expected[kept])
    if feature in PHASES:
        # arctan(b/a) jumps by π where a passes zero.
        assert np.minimum(difference, np.abs(difference - np.pi)).max() < HARMONIC_PHASE
    else:
        strongest = golden_values.loc[expected.index[kept], "Freq1_harmonics_amplitude_0"]
        assert (difference / strongest).max() < HARMONIC_AMPLITUDE
