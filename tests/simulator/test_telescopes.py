"""When the surveys look, and what their noise does."""

import numpy as np
import pytest

from lcdvt.simulator.observation import FEWEST_EPOCHS, observe
from lcdvt.simulator.surveys import EROS, HITS, MACHO, SURVEYS, field_visits

FIELDS = range(1, 31)


def all_visits(name):
    return [field_visits(name, 0, field).mjd for field in FIELDS]


@pytest.mark.parametrize(("name", "low", "high"), [("eros", 400, 700), ("macho", 700, 1150), ("hits", 26, 30)])
def test_number_of_visits(name, low, high):
    assert low <= np.median([mjd.size for mjd in all_visits(name)]) <= high


@pytest.mark.parametrize("name", SURVEYS)
def test_visits_are_sorted_and_only_at_night(name):
    longitude = SURVEYS[name].campaign.longitude
    for mjd in all_visits(name):
        assert np.all(np.diff(mjd) > 0)
        hours_from_midnight = 24 * ((mjd + longitude / 360 + 0.5) % 1.0) - 12
        assert np.all(np.abs(hours_from_midnight) < 6.5)


def test_the_cloud_is_lost_in_the_southern_winter():
    mjd = np.concatenate(all_visits("eros"))
    month = (mjd - 51544) % 365.2422 / 30.44
    in_june, in_december = np.mean((month > 5) & (month < 6)), np.mean((month > 11) & (month < 12))
    assert in_june < 0.25 * in_december


def test_hits_looks_four_or_five_times_a_night_for_six_nights():
    for mjd in all_visits("hits"):
        nights, visits = np.unique(np.floor(mjd - 0.7), return_counts=True)
        assert nights.size == 6
        assert 4 <= np.median(visits) <= 5


def test_fields_have_their_own_weather():
    first, second = all_visits("macho")[:2]
    assert not np.intersect1d(first, second).size


@pytest.mark.parametrize("survey", [EROS, MACHO, HITS], ids=lambda survey: survey.name)
def test_errors_grow_towards_faint_magnitudes_and_describe_the_scatter(survey):
    band = survey.bands[0]
    rng = np.random.default_rng(0)
    medians = []
    for magnitude in band.sky_magnitude + np.array([-4.0, -2.0, 0.0]):
        truth = np.full(2000, magnitude)
        measured = band.measure(rng, truth, np.ones(2000), 1.0)
        residual = (measured.mag - truth)[measured.seen]
        scatter = 1.4826 * np.median(np.abs(residual - np.median(residual)))
        expected = np.hypot(np.median(measured.err[measured.seen]), band.unquoted_scatter)
        assert 0.85 < scatter / expected < 1.6
        medians.append(np.median(measured.err))
    assert medians[0] < medians[1] < medians[2]


def test_faint_and_saturated_stars_are_lost():
    band = MACHO.bands[0]
    rng = np.random.default_rng(0)
    for magnitude in (band.sky_magnitude + 4, band.saturated_above - 1):
        measured = band.measure(rng, np.full(500, magnitude), np.ones(500), 1.0)
        assert measured.seen.mean() < 0.05


def test_outliers_and_wild_errors_occur():
    band = MACHO.bands[1]
    measured = band.measure(np.random.default_rng(0), np.full(20000, -7.0), np.ones(20000), 1.0)
    assert 0.001 < np.mean(np.abs(measured.mag + 7.0) > 0.3) < 0.02
    assert 1.0 < measured.err.max() <= band.largest_error


def test_some_stars_lack_a_band_and_all_are_worth_a_catalogue():
    lacking = 0
    for index in range(120):
        observation = observe(MACHO, 7, index, index % 40 + 1)
        counts = [int(measured.seen.sum()) for measured in observation.measured.values()]
        assert max(counts) >= FEWEST_EPOCHS
        lacking += min(counts) == 0
    assert 2 <= lacking <= 25


def test_surveys_with_one_seed_do_not_share_stars():
    periods = {
        survey.name: {observe(survey, 0, index, 1).star.period for index in range(40)} for survey in (EROS, MACHO)
    }
    assert not {p for p in periods["eros"] & periods["macho"] if p == p}


def phase_dispersion(times, magnitudes, periods, bins=10):
    """Variance within phase bins over the whole variance (Stellingwerf 1978)."""
    theta = np.empty(len(periods))
    for number, period in enumerate(periods):
        phase_bin = (times / period % 1.0 * bins).astype(int)
        count = np.bincount(phase_bin, minlength=bins)
        total = np.bincount(phase_bin, magnitudes, bins)
        square = np.bincount(phase_bin, magnitudes**2, bins)
        theta[number] = np.sum(square - total**2 / np.maximum(count, 1))
    return theta / (magnitudes.var() * magnitudes.size)


@pytest.mark.parametrize("survey", [EROS, MACHO], ids=lambda survey: survey.name)
def test_true_period_of_a_strong_rr_lyrae_is_found_in_its_light_curve(survey):
    checked = 0
    for index in range(200):
        observation = observe(survey, 11, index, index % 20 + 1)
        measured = observation.measured["B"]
        if observation.star.subclass != "RRab" or observation.amplitude["B"] < 0.9 or measured.seen.sum() < 300:
            continue
        times, magnitudes = observation.visits.mjd[measured.seen], measured.mag[measured.seen]
        inlier = np.abs(magnitudes - np.median(magnitudes)) < 1.5
        true_frequency = 1 / observation.star.period
        # Every frequency within 0.1 cycles a day of the truth that the time span can tell apart.
        frequencies = true_frequency + np.arange(-0.1, 0.1, 0.1 / np.ptp(times))
        theta = phase_dispersion(times[inlier], magnitudes[inlier], 1 / frequencies)
        assert abs(frequencies[np.argmin(theta)] - true_frequency) < 0.5 / np.ptp(times)
        assert theta.min() < 0.7
        checked += 1
        if checked == 4:
            break
    assert checked == 4
