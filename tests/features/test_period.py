"""The period search on simulated stars whose period is known, on cadences that make it hard."""

from collections.abc import Callable

import numpy as np
import pytest

from lcdvt.features.period.choice import ChoiceConfig
from lcdvt.features.period.eclipse import EclipseConfig
from lcdvt.features.period.search import NO_PERIOD, PeriodConfig, PeriodResult, find_period
from lcdvt.features.period.shape import DoubleWavePrior

RANGE = (0.1, 1000.0)
ERROR = 0.05
Signal = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def seasonal_nights(rng: np.random.Generator, n_nights: int = 100, years: float = 6.0) -> np.ndarray:
    """Two exposures a night at nearly the same hour, four months a year without any: strong aliases."""
    nights = np.sort(rng.choice(int(365.25 * years), n_nights, replace=False)).astype(float)
    nights = nights[nights % 365.25 < 240.0]
    first = nights + 0.3 + rng.uniform(-0.1, 0.1, nights.size)
    return np.sort(np.concatenate((first, first + 0.02)))


def six_nights(rng: np.random.Generator) -> np.ndarray:
    """28 epochs in six nights, as HiTS observed."""
    return np.sort(np.concatenate([night + rng.uniform(0.0, 0.3, 5) for night in range(6)]))[:28]


def wave(t: np.ndarray, period: float, amplitudes: list[float], phases: list[float]) -> np.ndarray:
    cycles = t / period
    return sum(
        a * np.cos(2.0 * np.pi * k * cycles + p) for k, (a, p) in enumerate(zip(amplitudes, phases, strict=True), 1)
    )


def rrab(period: float) -> Signal:
    # Fourier amplitudes and phases of a steep rise and a slow decline, in magnitudes.
    return lambda t, rng: wave(t, period, [0.35, 0.17, 0.11, 0.06], [0.0, -2.2, 1.9, -0.3])


def binary(period: float, depths: tuple[float, float], width: float = 0.05) -> Signal:
    def signal(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        phase = (t / period) % 1.0
        primary = np.minimum(phase, 1.0 - phase)
        return depths[0] * np.exp(-0.5 * (primary / width) ** 2) + depths[1] * np.exp(
            -0.5 * ((phase - 0.5) / width) ** 2
        )

    return signal


def random_walk(t: np.ndarray, rng: np.random.Generator, correlation_time: float, spread: float) -> np.ndarray:
    walk = np.empty(t.size)
    walk[0] = rng.normal()
    for i in range(1, t.size):
        decay = np.exp(-(t[i] - t[i - 1]) / correlation_time)
        walk[i] = decay * walk[i - 1] + np.sqrt(1.0 - decay**2) * rng.normal()
    return spread * walk


def search(signal: Signal, seed: int, config: PeriodConfig | None = None) -> PeriodResult:
    rng = np.random.default_rng(seed)
    t = seasonal_nights(rng)
    mag = 15.0 + signal(t, rng) + rng.normal(0.0, ERROR, t.size)
    return find_period((t,), (mag,), (np.full(t.size, ERROR),), RANGE, config=config or PeriodConfig())


def share_at(signal: Signal, period: float, config: PeriodConfig | None = None, seeds: int = 10) -> float:
    found = [search(signal, seed, config).period for seed in range(seeds)]
    return float(np.mean([abs(p / period - 1.0) < 1e-3 for p in found]))


@pytest.mark.parametrize("period", [0.4567, 0.5731, 0.71234])
def test_rr_lyrae_not_their_daily_aliases(period: float) -> None:
    assert share_at(rrab(period), period) == 1.0


def test_short_overtone_pulsator_is_not_doubled() -> None:
    signal: Signal = lambda t, rng: wave(t, 0.3271, [0.2, 0.03], [0.0, -2.0])  # noqa: E731
    assert share_at(signal, 0.3271) == 1.0


@pytest.mark.parametrize("bands", [1, 2])
def test_a_precise_sine_gets_no_multiple_but_a_binary_s(bands: int) -> None:
    """A top of the likelihood is as narrow as the noise is small: fits beside it would lose to multiples."""
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        period = np.exp(rng.uniform(np.log(0.3), np.log(30.0)))
        times = [np.sort(rng.uniform(0.0, 500.0, 200 // bands)) for _ in range(bands)]
        mags = [wave(t, period, [0.3], [0.0]) + rng.normal(0.0, 0.003, t.size) for t in times]
        ratios.append(find_period(times, mags, [np.full(t.size, 0.003) for t in times], RANGE).period / period)
    of_binaries = np.array([1.0, 2.0])  # with equal minima the orbit is twice the wave's period
    assert np.all(np.min(np.abs(np.array(ratios)[:, None] / of_binaries - 1.0), axis=1) < 1e-3)
    assert np.sum(np.array(ratios) < 1.5) >= 28


@pytest.mark.parametrize("period", [0.6713, 1.8341, 4.21])
def test_binary_with_unequal_minima_gets_its_orbit(period: float) -> None:
    without_prior = PeriodConfig(choice=ChoiceConfig(double_wave=DoubleWavePrior(enabled=False)))
    assert share_at(binary(period, (0.6, 0.3)), period, without_prior) >= 0.9
    assert share_at(binary(period, (0.6, 0.3)), period) >= 0.9


def forty_nights(rng: np.random.Generator) -> np.ndarray:
    """Four exposures within half an hour in each of forty nights of eight years, as Catalina observed."""
    nights = np.sort(rng.choice(3000, 40, replace=False)) + 0.3 + rng.uniform(-0.15, 0.15, 40)
    return np.sort(np.concatenate([nights + 0.007 * exposure for exposure in range(4)]))


def share_of_few_eclipses(config: PeriodConfig, bands: int = 1) -> float:
    right = []
    for seed, period in enumerate(np.linspace(0.87, 2.9, 16)):
        rng = np.random.default_rng(seed)
        times = [forty_nights(rng) for _ in range(bands)]
        mags = [15.0 + binary(period, (1.5, 0.05), 0.022)(t, rng) + rng.normal(0.0, 0.03, t.size) for t in times]
        found = find_period(times, mags, [np.full(t.size, 0.03) for t in times], RANGE, config=config).period
        right.append(abs(found / period - 1.0) < 1e-3)
    return float(np.mean(right))


def test_a_few_nights_in_eclipse_are_enough() -> None:
    without = PeriodConfig(choice=ChoiceConfig(eclipses=EclipseConfig(faint_share=0.0)))
    assert share_of_few_eclipses(PeriodConfig()) >= share_of_few_eclipses(without) + 0.2
    assert share_of_few_eclipses(PeriodConfig(), bands=2) >= 0.8


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_long_spells_of_outliers_do_not_hide_a_pulsation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spells = rng.uniform(0.0, 2200.0, 4)
    within = (begin + rng.uniform(0.0, 12.0, 20) for begin in spells)
    t = np.sort(np.concatenate((rng.uniform(0.0, 2200.0, 400), *within)))
    phase = t / 3.797
    mag = 14.4 + 0.11 * np.sin(2.0 * np.pi * phase) + 0.05 * np.sin(4.0 * np.pi * phase) + rng.normal(0.0, 0.01, t.size)
    for begin in spells:
        mag += np.where((t >= begin) & (t < begin + 12.0), 0.4, 0.0)
    found = find_period((t,), (mag,), (np.full(t.size, 0.01),), (0.2, 200.0))
    assert found.period == pytest.approx(3.797, rel=1e-4) and found.fap < 1e-3
    # the spells count for little once they are told
    assert found.power > 0.6


def test_eclipses_are_not_looked_for_in_other_stars(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("lcdvt.features.period.eclipse._scores", lambda *given: asked.append(given))
    for signal in (rrab(0.5731), binary(0.3412, (0.3, 0.3), 0.12), lambda t, rng: random_walk(t, rng, 20.0, 0.3)):
        search(signal, 0)
        search(lambda t, rng, signal=signal: -signal(t, rng), 0)
    assert asked == []


def test_bright_flares_are_not_eclipses() -> None:
    assert search(lambda t, rng: -binary(1.8341, (1.5, 0.0), 0.02)(t, rng), 1) == search(
        lambda t, rng: -binary(1.8341, (1.5, 0.0), 0.02)(t, rng),
        1,
        PeriodConfig(choice=ChoiceConfig(eclipses=EclipseConfig(faint_share=0.0))),
    )


def test_equal_minima_are_a_matter_of_the_shape_prior() -> None:
    contact: Signal = lambda t, rng: wave(t, 0.3412 / 2, [0.22, 0.05], [0.0, 0.0])  # noqa: E731
    without_prior = PeriodConfig(choice=ChoiceConfig(double_wave=DoubleWavePrior(enabled=False)))
    assert share_at(contact, 0.3412) >= 0.8
    assert share_at(contact, 0.3412 / 2, without_prior) >= 0.8


def test_a_wave_too_strong_for_tides_is_not_doubled() -> None:
    pulsator: Signal = lambda t, rng: wave(t, 5.312, [0.5, 0.1], [0.0, 0.0])  # noqa: E731
    weaker: Signal = lambda t, rng: 0.4 * pulsator(t, rng)  # noqa: E731
    assert share_at(pulsator, 5.312) == 1.0
    assert share_at(weaker, 2 * 5.312) >= 0.8


def test_long_period_variable_is_not_overfitted() -> None:
    def giant(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return wave(t, 251.0, [0.7], [0.3]) + random_walk(t, rng, 60.0, 0.15)

    results = [search(giant, seed) for seed in range(10)]
    assert np.mean([abs(r.period / 251.0 - 1.0) < 0.02 for r in results]) >= 0.9
    assert np.mean([r.n_harmonics <= 2 for r in results]) >= 0.9
    assert max(r.fap for r in results) < 1e-3


@pytest.mark.parametrize("seed", [0, 4, 12, 15])
def test_a_slow_change_seen_night_by_night_does_not_repeat_daily(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nights = np.sort(rng.choice(np.r_[0:150, 330:500], 100, replace=False))
    t, period = nights + 0.2 + rng.normal(0.0, 0.06, 100), rng.uniform(80.0, 160.0)
    drift = np.cumsum(rng.normal(0.0, 0.01, 500))[nights]
    mag = wave(t, period, [0.2, 0.15], [0.0, 1.0]) + drift + rng.normal(0.0, 0.02, 100)
    assert find_period([t], [mag], [np.full(100, 0.02)], (0.15, 900.0)).period == pytest.approx(period, rel=0.05)


@pytest.mark.parametrize("period", [0.985, 0.998, 1.001, 1.017])
def test_a_period_of_nearly_a_day_is_found_where_the_sampling_can_tell(period: float) -> None:
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(0.0, 60.0, 400))
    mag = wave(t, period, [0.3, 0.2, 0.1], [0.0, 1.0, 0.0]) + rng.normal(0.0, 0.01, 400)
    found = find_period([t], [mag], [np.full(400, 0.01)], (0.15, 40.0))
    assert found.period == pytest.approx(period, rel=2e-3)
    assert found.n_harmonics >= 3


@pytest.mark.parametrize("correlation_time", [20.0, 200.0])
def test_random_walks_are_not_significant(correlation_time: float) -> None:
    results = [search(lambda t, rng: random_walk(t, rng, correlation_time, 0.3), seed) for seed in range(15)]
    assert np.mean([r.fap > 0.1 for r in results]) >= 0.9
    assert min(r.fap for r in results) > 1e-3


def test_trends_are_not_significant() -> None:
    for shape in (lambda t: 0.4 * t / 2000.0, lambda t: 0.3 * (t > 900.0), lambda t: 0.5 * (t / 2000.0) ** 2):
        assert search(lambda t, rng, shape=shape: shape(t), 3).fap > 0.1


def test_white_noise_is_rarely_significant() -> None:
    faps = [search(lambda t, rng: np.zeros(t.size), seed).fap for seed in range(40)]
    # One in a hundred may fall below 0.01; four of forty are a 1-in-1000 accident.
    assert np.count_nonzero(np.array(faps) < 0.01) < 4
    assert np.median(faps) > 0.1


def test_faint_signal_loses_significance_gradually() -> None:
    faps = [search(lambda t, rng, a=a: wave(t, 0.5731, [a], [0.0]), 5).fap for a in (0.2, 0.05, 0.005)]
    assert faps[0] < 1e-10
    assert faps[0] < faps[1] < faps[2]


def test_28_epochs_in_six_nights() -> None:
    periods = np.linspace(0.45, 0.75, 30)
    right = []
    for seed, period in enumerate(periods):
        rng = np.random.default_rng(seed)
        t = six_nights(rng)
        mag = 20.0 + rrab(period)(t + rng.uniform(0.0, period), rng) + rng.normal(0.0, 0.03, t.size)
        found = find_period((t,), (mag,), (np.full(t.size, 0.03),), (1.0 / 7.0, 6.0)).period
        right.append(abs(found / period - 1.0) < 0.03)
    assert np.mean(right) >= 0.8


def test_two_bands_share_one_period() -> None:
    alone, together = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        times = tuple(seasonal_nights(rng, 60) for _ in range(2))
        mags = tuple(
            wave(t, 0.5731, [a], [p]) + rng.normal(0.0, 0.1, t.size)
            for t, a, p in zip(times, (0.12, 0.1), (0.0, 0.4), strict=True)
        )
        errs = tuple(np.full(t.size, 0.1) for t in times)
        alone.append(find_period(times[:1], mags[:1], errs[:1], RANGE).period)
        together.append(find_period(times, mags, errs, RANGE).period)
    shares = [np.mean(np.abs(np.array(p) / 0.5731 - 1.0) < 1e-3) for p in (alone, together)]
    assert shares[1] > shares[0]
    assert shares[1] >= 0.6


def test_empty_and_constant_bands_change_nothing() -> None:
    rng = np.random.default_rng(0)
    t = seasonal_nights(rng)
    mag = rrab(0.5731)(t, rng) + rng.normal(0.0, ERROR, t.size)
    err = np.full(t.size, ERROR)
    nothing = np.empty(0)
    expected = find_period((t,), (mag,), (err,), RANGE)
    assert find_period((nothing, t), (nothing, mag), (nothing, err), RANGE) == expected
    assert find_period((t, t), (mag, np.full(t.size, 14.0)), (err, err), RANGE) == expected


def test_a_mistyped_date_costs_nothing_but_its_epoch() -> None:
    rng = np.random.default_rng(1)
    t = 53000.0 + seasonal_nights(rng)
    mag = rrab(0.5731)(t, rng) + rng.normal(0.0, ERROR, t.size)
    err = np.full(t.size, ERROR)
    wrong = np.concatenate(([-2409998.0], t))
    result = find_period((wrong,), (np.concatenate(([0.3], mag)),), (np.concatenate(([ERROR], err)),), RANGE)
    assert result == find_period((t,), (mag,), (err,), RANGE)


def test_what_has_no_period_gets_none() -> None:
    t = np.arange(30.0)
    err = np.full(30, 0.1)
    for times, mags, errs in (
        ((), (), ()),
        ((t[:4],), (np.sin(t[:4]),), (err[:4],)),
        ((t,), (np.full(30, 12.3),), (err,)),
        ((np.zeros(30),), (np.sin(t),), (err,)),
    ):
        result = find_period(times, mags, errs, RANGE)
        assert np.isnan(result.period) and np.isnan(result.fap) and result.n_harmonics == NO_PERIOD.n_harmonics == 0


def test_a_baseline_shorter_than_the_shortest_period_gives_none() -> None:
    t = np.linspace(0.0, 0.05, 40)
    assert np.isnan(find_period((t,), (np.sin(300.0 * t),), (np.full(40, 0.1),), RANGE).period)


def test_the_grid_never_outgrows_its_limit() -> None:
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(0.0, 1e7, 100))
    config = PeriodConfig(max_frequencies=5000)
    result = find_period((t,), (rng.normal(size=100),), (np.full(100, 0.1),), RANGE, config=config)
    longest_grid_frequency = 5000 / (config.samples_per_peak * np.ptp(t))
    assert np.isnan(result.period) or result.period >= 0.99 / longest_grid_frequency
