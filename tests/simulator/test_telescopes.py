"""When the surveys look, and what their noise does."""

import numpy as np
import pytest

from lcdvt.simulator.noise import POGSON
from lcdvt.simulator.observation import observe
from lcdvt.simulator.survey import FEWEST_EPOCHS
from lcdvt.simulator.surveys import (
    EROS,
    GAIA,
    HITS,
    LSST,
    MACHO,
    OGLE,
    PS1,
    SURVEYS,
    ZTF,
    field_visits,
    simulated_survey,
)

FIELDS = range(1, 31)
# Survey, and the fewest and the most visits of a field that lies in the middle.
SIZES = [
    *[("eros", 400, 700), ("macho", 700, 1150), ("hits", 26, 30), ("ogle", 400, 750), ("ztf", 600, 1000)],
    *[("gaia", 40, 70), ("ps1", 15, 35), ("lsst", 70, 90)],
]
TODAY = [survey for survey in SURVEYS.values() if survey.name in ("ogle", "ztf", "gaia", "ps1", "lsst")]


def all_visits(name):
    return [field_visits(SURVEYS[name], 0, field).mjd for field in FIELDS]


@pytest.mark.parametrize(("name", "low", "high"), SIZES)
def test_number_of_visits(name, low, high):
    assert low <= np.median([mjd.size for mjd in all_visits(name)]) <= high


@pytest.mark.parametrize("name", [name for name in SURVEYS if name != "gaia"])
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


def exposures(survey):
    """Median number of a field's exposures in each filter."""
    visits = [field_visits(survey, 0, field) for field in FIELDS]
    return {band.name: np.median([each.through(band.name).sum() for each in visits]) for band in survey.bands}


def test_ogle_looks_in_i_and_now_and_then_in_v():
    counts = exposures(OGLE)
    assert 30 < counts["V"] < 0.25 * counts["I"]


def test_ztf_has_g_and_r_every_few_nights_and_little_i():
    counts = exposures(ZTF)
    assert counts["i"] < 0.2 * counts["g"] and abs(counts["g"] / counts["r"] - 1) < 0.15
    for field in FIELDS:
        visits = field_visits(ZTF, 0, field)
        assert 1 <= np.median(np.diff(np.unique(np.floor(visits.mjd)))) <= 4


def test_gaia_scans_in_clusters_of_transits():
    for mjd in all_visits("gaia"):
        gaps = np.diff(mjd)
        assert np.all(gaps > 0)
        within_a_day = np.round(24 * gaps[gaps < 1], 3)
        assert set(within_a_day) <= {1.775, 4.225}
        assert within_a_day.size > 8
        assert np.median(gaps[gaps > 1]) > 15


def test_ps1_exposes_in_pairs_a_few_times_in_each_filter():
    assert all(3 <= count <= 8 for count in exposures(PS1).values())
    for field in FIELDS:
        visits = field_visits(PS1, 0, field)
        assert np.all(visits.filters[::2] == visits.filters[1::2])
        assert np.all(24 * 60 * (visits.mjd[1::2] - visits.mjd[::2]) < 15)
        assert np.ptp(visits.mjd) < 4.1 * 365


@pytest.mark.parametrize("years", [1, 10])
def test_lsst_visits_its_six_filters_in_proportion(years):
    counts = exposures(simulated_survey("lsst", years))
    total = sum(counts.values())
    assert 70 * years < total < 90 * years
    expected = {"u": 0.07, "g": 0.10, "r": 0.22, "i": 0.22, "z": 0.19, "y": 0.19}
    for band, share in expected.items():
        assert counts[band] / total == pytest.approx(share, abs=0.03)


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


@pytest.mark.parametrize("survey", TODAY, ids=lambda survey: survey.name)
def test_errors_of_calibrated_bands_are_the_scatter_about_the_truth(survey):
    """With what the survey's TOML says of its errors, chi squared is one."""
    squares = {band.name: [] for band in survey.bands}
    for index in range(150):
        observation = observe(survey, 5, index, index % 20 + 1)
        for band in survey.bands:
            one = observation.flux[band.name]
            good = one.seen & ~one.spoiled
            flux = 10 ** (-0.4 * observation.truth[band.name][good])
            errors = np.hypot(band.error_scale * one.flux_err[good], band.error_floor * flux / POGSON)
            squares[band.name].append(((one.flux[good] - flux) / errors) ** 2)
    for values in map(np.concatenate, squares.values()):
        assert values.size > 400
        assert np.mean(values) == pytest.approx(1.0, abs=0.05 + 4 * np.sqrt(2 / values.size))


@pytest.mark.parametrize("survey", TODAY, ids=lambda survey: survey.name)
def test_depth_is_five_sigma_and_bright_stars_saturate(survey):
    rng = np.random.default_rng(0)
    for band in survey.bands:
        at_limit = band.measure(rng, np.full(4000, band.depth), np.ones(4000), 1.0)
        good = ~at_limit.spoiled
        assert 10 ** (-0.4 * band.depth) / np.std(at_limit.flux[good]) == pytest.approx(5 / band.error_scale, rel=0.05)
        assert not band.measure(rng, np.full(50, band.saturated_above - 0.1), np.ones(50), 1.0).seen.any()
        bright = band.measure(rng, np.full(400, band.saturated_above + 1.0), np.ones(400), 1.0)
        assert np.median(bright.err) < 2 * np.hypot(band.floor, 0.005)


def test_forced_photometry_of_what_is_too_faint_is_negative_half_of_the_time():
    band = LSST.bands[0]
    measured = band.measure(np.random.default_rng(0), np.full(2000, band.depth + 5), np.ones(2000), 1.0)
    assert 0.35 < np.mean(measured.flux[measured.seen] < 0) < 0.5
    assert measured.seen.mean() > 0.95


@pytest.mark.parametrize("survey", [ZTF, GAIA, PS1, LSST], ids=lambda survey: survey.name)
def test_classes_have_their_colours_in_every_survey(survey):
    """Long-period variables are reddest, eclipsing binaries of the field redder than pulsators of the halo."""
    blue, red = min(survey.bands, key=lambda b: abs(b.wavelength - 0.48)), survey.bands[-1]
    colours = {}
    for index in range(300):
        observation = observe(survey, 2, index, index % 20 + 1)
        mean = observation.mean_mag
        colours.setdefault(observation.label, []).append(mean[blue.name] - mean[red.name])
    medians = {label: np.median(values) for label, values in colours.items()}
    assert medians["LPV"] > 1.3 + max(medians["EB"], medians["RRLYR"])
    assert medians["EB"] > medians["RRLYR"]


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
