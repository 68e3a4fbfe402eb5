"""What holds for the period search whatever the light curve, and its kernels against plain formulas."""

import nifty_ls
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from lcdvt.compiled.kernel import kernel
from lcdvt.features.period.choice import ChoiceConfig
from lcdvt.features.period.fit import NO_MODEL, Bands, FitWork, fill_best, fit_all
from lcdvt.features.period.median import median
from lcdvt.features.period.normal import CHAINS, MODEL_CHAINS, MODEL_HARMONICS, MODEL_HIGHEST, N_MODELS, RESIDUALS
from lcdvt.features.period.scan import _transformed_power, direct_power
from lcdvt.features.period.search import PeriodConfig, find_period
from lcdvt.features.period.significance import chi2_survival

RANGE = (0.2, 200.0)


def light_curve(seed: int, n: int, span: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0.0, span, n))
    return t, 15.0 + 0.3 * np.sin(2.0 * np.pi * t / 0.77) + rng.normal(0.0, 0.1, n), rng.uniform(0.05, 0.2, n)


@st.composite
def awkward_bands(draw: st.DrawFn) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    times, mags, errs = [], [], []
    for _ in range(draw(st.integers(1, 2))):
        n = draw(st.integers(0, 60))
        rng = np.random.default_rng(draw(st.integers(0, 1000)))
        span = draw(st.sampled_from([0.0, 1e-3, 1.0, 6.0, 400.0, 2000.0]))
        t = np.sort(np.round(rng.uniform(0.0, span, n), draw(st.integers(0, 5))))
        spread = draw(st.sampled_from([0.0, 1e-12, 0.1, 5.0, 1e8]))
        mag = draw(st.sampled_from([0.0, 15.0, -1e6])) + spread * rng.normal(size=n)
        err = draw(st.sampled_from([1e-12, 0.05, 1e6])) * rng.uniform(0.5, 2.0, n)
        if n and draw(st.booleans()):
            mag[rng.integers(n)] += draw(st.sampled_from([1e-3, 50.0, 1e15]))
        times.append(t)
        mags.append(mag)
        errs.append(err)
    return times, mags, errs


@settings(max_examples=150)
@given(awkward_bands())
def test_any_light_curve_gives_a_result_in_range(bands: tuple[list[np.ndarray], ...]) -> None:
    result = find_period(*bands, RANGE)
    if np.isnan(result.period):
        assert np.isnan(result.fap) and np.isnan(result.power) and result.n_harmonics == 0
    else:
        assert RANGE[0] * (1.0 - 1e-12) <= result.period <= RANGE[1] * (1.0 + 1e-12)
        assert 0.0 <= result.fap <= 1.0
        assert 0.0 <= result.power <= 1.0
        assert 1 <= result.n_harmonics <= 8


@settings(max_examples=15)
@given(st.integers(0, 20), st.sampled_from([30, 150]), st.floats(-1e5, 1e5), st.floats(-20.0, 20.0))
def test_zero_points_of_time_and_magnitude_do_not_matter(seed: int, n: int, later: float, fainter: float) -> None:
    t, mag, err = light_curve(seed, n, 300.0)
    here = find_period((t,), (mag,), (err,), RANGE)
    there = find_period((t + later,), (mag + fainter,), (err,), RANGE)
    assert there.period == pytest.approx(here.period, rel=1e-5)
    assert there.n_harmonics == here.n_harmonics
    assert there.power == pytest.approx(here.power, rel=1e-3)


def test_scaled_errors_do_not_matter() -> None:
    t, mag, err = light_curve(3, 120, 300.0)
    small, large = (find_period((t,), (mag,), (scale * err,), RANGE) for scale in (1.0, 7.0))
    # The error floor makes a tiny difference of weights.
    assert large.period == pytest.approx(small.period, rel=1e-5)


def test_direct_sum_is_the_floating_mean_periodogram() -> None:
    t, mag, err = light_curve(5, 35, 40.0)
    w = err**-2.0 / np.sum(err**-2.0)
    y = mag - np.sum(w * mag)
    df, n_grid = 0.005, 900
    expected = nifty_ls.lombscargle(t, y, err, fmin=df, fmax=n_grid * df, Nf=n_grid, nthreads=1).power
    np.testing.assert_allclose(direct_power(t, y, w, df, n_grid), expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("n_grid", [900, 901, 902])
def test_the_transforms_give_the_sums_power(n_grid: int) -> None:
    t, mag, err = light_curve(3, 150, 120.0)
    w = err**-2.0 / np.sum(err**-2.0)
    bands = Bands(t - 60.0, w, mag - np.sum(w * mag), np.array([0, t.size]), np.array([8]))
    df = 1.0 / 360.0
    found = _transformed_power(bands, t.size, df, n_grid)
    np.testing.assert_allclose(found, direct_power(bands.t, bands.y, w, df, n_grid), rtol=0.0, atol=2e-3)


@kernel
def fit(
    t, w, y, bounds, max_harmonics, frequencies, reaches, count, n_points, highest, model, sharpenings, sharpened,
    baseline, near_a_day, cycles_per_harmonic, window_penalty, is_rough, epochs, rough, small, coefficients, places,
    table, window,
):  # fmt: skip
    fit_all(
        t, w, y, bounds, max_harmonics, frequencies, reaches, count, n_points, highest, model, sharpenings, sharpened,
        baseline, near_a_day, cycles_per_harmonic, window_penalty, is_rough, epochs, rough, small, coefficients, places,
        table, window,
    )  # fmt: skip


@pytest.mark.parametrize("most", [(8,), (8, 3), (1, 5)])
def test_fits_side_by_side_are_those_of_each_alone(most: tuple[int, ...]) -> None:
    curves = [light_curve(seed, 40, 100.0) for seed in range(len(most))]
    t, y, w = (np.concatenate(each) for each in zip(*curves, strict=True))
    bands = Bands(t - 50.0, w / w.sum(), y - 15.0, np.arange(len(most) + 1) * 40, np.array(most))
    frequencies, reaches = np.array([1.0 / 0.77, 0.31, 0.5, 1e-4, 2.1]), np.array([0.01, 0.01, 0.02, 1e-4, 0.005])
    sizes = (3, 8, NO_MODEL, 0, 0, 0.0, 0.0, 1.0, 0.0, False)
    together = FitWork.of(bands.t.size, len(bands.max_harmonics), 5)
    fit(*bands, frequencies, reaches, 5, *sizes, *together)
    for k in range(5):
        alone = FitWork.of(bands.t.size, len(bands.max_harmonics), 1)
        fit(*bands, frequencies[k : k + 1], reaches[k : k + 1], 1, *sizes, *alone)
        np.testing.assert_array_equal(together.table[:2, k], alone.table[:2, 0])
        assert together.window[k] == alone.window[0]


@pytest.mark.parametrize("epochs", [30, 403])
def test_rough_fits_gain_what_exact_ones_do(epochs: int) -> None:
    t, y, err = light_curve(5, epochs, 700.0)
    w = err**-2.0 / np.sum(err**-2.0)
    bands = Bands(t - 350.0, w, y - np.sum(w * y), np.array([0, t.size]), np.array([4]))
    frequencies, reaches = np.array([1.0 / 0.77, 0.31, 5.9]), np.full(3, 4e-4)
    exact, rough = FitWork.of(t.size, 1, 3), FitWork.of(t.size, 1, 3)
    for work, is_rough in ((exact, False), (rough, True)):
        fit(*bands, frequencies, reaches, 3, 5, 4, NO_MODEL, 0, 0, 0.0, 0.0, 1.0, 0.0, is_rough, *work)
    # single precision, seven digits, of a share of the variance, in units of half an epoch
    np.testing.assert_allclose(rough.table[1, :, :4], exact.table[1, :, :4], rtol=0.0, atol=1e-4 * epochs)
    np.testing.assert_allclose(rough.window, exact.window, rtol=0.0, atol=1e-5)


@kernel
def best_of(scores: np.ndarray, wanted: int, places: np.ndarray) -> None:
    fill_best(scores, scores.shape[0], wanted, places)


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 2.0, 3.5]), min_size=3, max_size=36), st.integers(1, 15))
def test_the_best_candidates_come_first_and_equals_in_their_order(values: list[float], wanted: int) -> None:
    scores = np.array(values[: len(values) // 3 * 3]).reshape(-1, 3)
    places = np.full((2, len(scores)), -1)
    best_of(scores, wanted, places)
    expected = np.argsort(-scores.max(axis=1), kind="stable")[:wanted]
    np.testing.assert_array_equal(places[0, : len(expected)], expected)
    np.testing.assert_array_equal(places[1, : len(expected)], scores.argmax(axis=1)[expected])
    assert np.all(places[:, len(expected) :] == -1)


@kernel
def median_of(values: np.ndarray) -> float:
    return median(values, np.int64(0), values.size)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_median_within_kernels(values: list[float]) -> None:
    assert median_of(np.array(values)) == np.median(values)


@pytest.mark.parametrize("seed", range(8))
def test_finalists_that_are_left_out_would_not_win(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.sort(np.floor(rng.uniform(0.0, 300.0, 120)) + rng.normal(0.3, 0.08, 120))
    phase = t / rng.uniform(0.3, 3.0) % 1.0
    mag = 15.0 - 0.4 * np.exp(-((phase - 0.5) ** 2) / rng.uniform(0.005, 0.1)) + rng.normal(0.0, 0.02 * seed, t.size)
    mag[::30] += 0.5
    err = np.full(t.size, 0.05)
    everybody = PeriodConfig(choice=ChoiceConfig(contenders=-np.inf))
    assert find_period((t,), (mag,), (err,), RANGE) == find_period((t,), (mag,), (err,), RANGE, config=everybody)


@pytest.mark.parametrize("model", range(N_MODELS))
def test_every_model_is_the_least_squares_fit(model: int) -> None:
    t, mag, err = light_curve(7, 90, 100.0)
    w = err**-2.0 / np.sum(err**-2.0)
    y = mag - np.sum(w * mag)
    bands = Bands(t - 50.0, w, y, np.array([0, t.size]), np.array([8]))
    harmonics = CHAINS[MODEL_CHAINS[model]][: MODEL_HARMONICS[model]]
    phase = 2.0 * np.pi * bands.t / 1.54
    columns = [function(k * phase) for k in harmonics for function in (np.cos, np.sin)]
    design = np.stack([np.ones(t.size), *columns], axis=1)
    root = np.sqrt(w)
    solution = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
    expected = y - design @ solution
    no_sharpening = (0, 0, 0.0, 0.0, 1.0, 0.0, False)
    work, frequency = FitWork.of(bands.t.size, len(bands.max_harmonics), 1), np.array([1.0 / 1.54])
    fit(*bands, frequency, np.zeros(1), 1, 1, MODEL_HIGHEST[model], model, *no_sharpening, *work)
    coefficients = work.coefficients.copy()
    np.testing.assert_allclose(work.epochs[RESIDUALS], expected, atol=1e-10)
    np.testing.assert_allclose(coefficients[0, [2 * k - 2 for k in harmonics]], solution[1::2], atol=1e-10)
    fit(*bands, frequency, np.array([1e-12]), 1, 3, 8, NO_MODEL, *no_sharpening, *work)
    assert work.table[1, 0, model] == pytest.approx(
        0.5 * t.size * np.log(np.sum(w * y**2) / np.sum(w * expected**2)), rel=1e-6
    )


@pytest.mark.parametrize(("value", "degrees"), [(0.0, 2), (3.0, 2), (11.5, 8), (60.0, 32)])
def test_chi2_survival(value: float, degrees: int) -> None:
    assert chi2_survival.py_func(value, degrees) == pytest.approx(chi2.sf(value, degrees), rel=1e-12)
