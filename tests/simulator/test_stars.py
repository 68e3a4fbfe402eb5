"""The physics: relations between period, amplitude, colour and shape."""

import numpy as np
import pytest

from lcdvt.simulator.binaries import Binary, binary_light, eclipsing_binary, roche_radius
from lcdvt.simulator.pulsators import cepheid, rr_lyrae
from lcdvt.simulator.quasars import damped_random_walk, quasar
from lcdvt.simulator.red_giants import long_period_variable
from lcdvt.simulator.spectra import V_AND_I, power_law_spectrum, stellar_spectrum, vega_in_ab
from lcdvt.simulator.star import MagellanicCloud
from lcdvt.simulator.surveys import HITS, SURVEYS, star_generator

SKY = MagellanicCloud()
PHASES = np.linspace(0, 1, 200, endpoint=False)


def draw(sampler, count, seed=3, **options):
    rng = np.random.default_rng(seed)
    return [sampler(rng, SKY, **options) for _ in range(count)]


def amplitude_v(star):
    return np.ptp(star.curve(PHASES * star.period, V_AND_I)[0])


def fourier_ratio(star):
    """Second over first harmonic of the V light curve."""
    spectrum = np.abs(np.fft.rfft(star.curve(PHASES * star.period, V_AND_I)[0]))
    return spectrum[2] / spectrum[1]


def test_rrab_amplitude_falls_with_period():
    stars = [star for star in draw(rr_lyrae, 400) if star.subclass == "RRab"]
    periods = np.array([star.period for star in stars])
    amplitudes = np.array([amplitude_v(star) for star in stars])
    assert periods.min() >= 0.38 and periods.max() <= 0.95
    assert np.corrcoef(np.log10(periods), amplitudes)[0, 1] < -0.5
    # From 0.18 to 1.35 mag, and a third more or less at the extremes of a Blazhko cycle.
    assert amplitudes.min() > 0.1 and amplitudes.max() < 1.9


def test_rrab_rise_faster_than_they_fade_and_rrc_are_rounder():
    stars = draw(rr_lyrae, 300)
    rise, ratio = {"RRab": [], "RRc": []}, {"RRab": [], "RRc": []}
    for star in stars:
        magnitude = star.curve(PHASES * star.period, V_AND_I)[0]
        rise[star.subclass].append(((np.argmin(magnitude) - np.argmax(magnitude)) % PHASES.size) / PHASES.size)
        ratio[star.subclass].append(fourier_ratio(star))
    assert np.median(rise["RRab"]) < 0.3 < np.median(rise["RRc"])
    assert np.median(ratio["RRc"]) < 0.25 < np.median(ratio["RRab"])


def test_rr_lyrae_sit_on_the_horizontal_branch_of_the_cloud():
    stars = draw(rr_lyrae, 300)
    mean_v = np.array([star.mean_v for star in stars])
    colour = mean_v - [star.mean_i for star in stars]
    assert abs(np.median(mean_v) - 19.3) < 0.15
    assert 0.4 < np.median(colour) < 0.7


def test_cepheids_follow_the_leavitt_law_and_the_hertzsprung_progression():
    stars = [star for star in draw(cepheid, 1500) if star.subclass == "fundamental"]
    log_period = np.log10([star.period for star in stars])
    slope, zero_point = np.polyfit(log_period, [star.mean_i for star in stars], 1)
    assert slope == pytest.approx(-2.91, abs=0.15)
    assert zero_point == pytest.approx(16.82, abs=0.15)
    colour = np.array([star.mean_v - star.mean_i for star in stars])
    assert np.polyfit(log_period, colour, 1)[0] > 0.05  # long periods are cool
    ratio = np.array([fourier_ratio(star) for star in stars])
    resonant, short = np.abs(log_period - 1.0) < 0.08, np.abs(log_period - 0.55) < 0.1
    assert np.median(ratio[resonant]) < 0.6 * np.median(ratio[short])


def test_pulsators_vary_more_in_the_blue():
    for star in [*draw(rr_lyrae, 20), *draw(cepheid, 20)]:
        v, i = star.curve(PHASES * star.period, V_AND_I)
        assert 0.5 < np.ptp(i) / np.ptp(v) < 0.75


def test_binary_with_equal_stars_has_equal_minima():
    binary = Binary("detached", 2.0, (0.15, 0.15), (9000, 9000), 1.0, 0.0)
    light = binary_light(binary, np.array([0.0, 0.25, 0.5]))
    assert light[:, 0] == pytest.approx(light[:, 2])
    assert light[:, 0] == pytest.approx(0.5 * light[:, 1], rel=0.03)  # one star hides the other completely


def test_the_hotter_star_behind_makes_the_deeper_minimum():
    binary = Binary("detached", 2.0, (0.2, 0.2), (12000, 6000), 0.8, 0.05)
    primary, secondary = binary_light(binary, np.array([0.0, 0.5]))[0]
    assert primary < secondary < 1.0
    in_v, in_i = binary_light(binary, np.array([0.0]))[:, 0]
    assert in_v < in_i  # losing the hot star costs more blue light


def test_no_eclipse_when_the_orbit_is_tilted_away():
    binary = Binary("detached", 2.0, (0.1, 0.1), (9000, 9000), 1.0, 0.3)
    light = binary_light(binary, PHASES)
    assert np.ptp(light) < 0.02


def test_contact_binary_never_stops_varying_and_detached_does():
    lobes = roche_radius(2.0), roche_radius(0.5)
    contact = binary_light(Binary("contact", 0.4, lobes, (6000, 5800), 0.5, 0.3), PHASES)[0]
    detached = binary_light(Binary("detached", 3.0, (0.08, 0.07), (9000, 8000), 0.9, 0.02), PHASES)[0]
    flat = [np.mean(np.abs(light - light.max()) < 0.01) for light in (contact, detached)]
    assert flat[0] < 0.35 < 0.8 < flat[1]


def test_eccentric_orbit_moves_the_secondary_minimum():
    binary = Binary("detached", 5.0, (0.08, 0.08), (9000, 8500), 1.0, 0.0, eccentricity=0.3, periastron=0.0)
    light = binary_light(binary, PHASES)[0]
    assert PHASES[np.argmin(light)] == pytest.approx(0.0, abs=0.01)
    middle = (PHASES > 0.1) & (PHASES < 0.9)
    secondary = PHASES[middle][np.argmin(light[middle])]
    assert abs(secondary - 0.5) > 0.1


def test_no_two_cycles_of_a_long_period_variable_are_alike():
    differences = []
    for star in draw(long_period_variable, 30):
        cycle = star.period * np.linspace(0, 1, 60)
        first, later = star.curve(cycle, V_AND_I)[1], star.curve(cycle + 4 * star.period, V_AND_I)[1]
        differences.append(np.std(first - later) / np.ptp(first))
    # A pulsator that repeats exactly would give zero.
    assert min(differences) > 0.005
    assert np.median(differences) > 0.1


def test_long_period_variables_are_red_and_bright():
    stars = draw(long_period_variable, 300)
    assert min(star.mean_v - star.mean_i for star in stars) > 1.1
    assert 13.0 < np.median([star.mean_i for star in stars]) < 15.5
    assert {star.subclass for star in stars} == {"Mira", "SRV", "OSARG"}


def test_damped_random_walk_has_its_variance_and_its_memory():
    rng = np.random.default_rng(5)
    times = np.arange(0, 40000.0, 5.0)
    walk = damped_random_walk(rng, times, timescale=50.0, spread=0.2)
    assert walk.std() == pytest.approx(0.2, rel=0.15)
    lag = 10  # fifty days
    correlation = np.mean(walk[lag:] * walk[:-lag]) / walk.var()
    assert correlation == pytest.approx(np.exp(-1), abs=0.12)


def test_quasar_bands_walk_together():
    times = np.sort(np.random.default_rng(1).uniform(0, 2500, 400))
    for star in draw(quasar, 10):
        assert np.isnan(star.period)
        v, i = star.curve(times, V_AND_I)
        assert np.corrcoef(v, i)[0, 1] > 0.8
        assert i.std() < v.std()


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_class_mix_is_the_papers(survey):
    count = 4000
    labels = [survey.draw_label(star_generator(survey.name, 0, index)) for index in range(count)]
    for label, percent in survey.class_mix.items():
        share = percent / sum(survey.class_mix.values())
        four_sigma = 4 * np.sqrt(share * (1 - share) / count)
        assert labels.count(label) / count == pytest.approx(share, abs=four_sigma)
    assert set(labels) == set(survey.class_mix)


def test_classes_overlap_in_period():
    rng = np.random.default_rng(2)
    periods = {"RRLYR": [], "EB": []}
    for label, found in periods.items():
        found += [HITS.draw_star(rng, label).period for _ in range(400)]
    low, high = np.percentile(periods["RRLYR"], [2, 98])
    assert np.mean([low < period < high for period in periods["EB"]]) > 0.3


UGRIZY = np.array([0.371, 0.477, 0.619, 0.754, 0.867, 0.974])


def test_spectra_go_through_v_and_i_to_the_last_digit():
    for spectrum in (stellar_spectrum, power_law_spectrum):
        for colour in (-0.2, 0.31, 0.77, 2.3, 4.9):
            assert spectrum(17.3, 17.3 - colour, V_AND_I).tolist() == [17.3, 17.3 - colour]


def test_vega_is_white_and_red_stars_are_red_everywhere():
    assert stellar_spectrum(0.0, 0.0, UGRIZY) == pytest.approx(np.zeros(6), abs=0.15)
    for colour in (0.8, 1.5, 3.0):
        assert np.all(np.diff(stellar_spectrum(15.0, 15.0 - colour, UGRIZY)) < 0)


@pytest.mark.parametrize(
    ("sampler", "u_g", "g_r", "r_i"),
    [(rr_lyrae, (0.9, 1.3), (0.0, 0.45), (-0.1, 0.25)), (quasar, (-0.3, 0.7), (-0.2, 0.5), (-0.2, 0.5))],
)
def test_colours_of_rr_lyrae_and_quasars_are_those_of_stripe_82(sampler, u_g, g_r, r_i):
    """Within what holds two thirds of the real ones, and a little more."""
    stars = draw(sampler, 200)
    ab = np.array([star.spectrum(star.mean_v, star.mean_i, UGRIZY) + vega_in_ab(UGRIZY) for star in stars])
    for colours, (low, high) in zip(-np.diff(ab[:, :4], axis=1).T, (u_g, g_r, r_i), strict=True):
        assert np.mean((colours > low) & (colours < high)) > 0.9


def amplitudes(star, wavelengths=UGRIZY):
    times = np.sort(np.random.default_rng(0).uniform(0, 3000, 500))
    return np.ptp(star.curve(times, wavelengths), axis=1)


@pytest.mark.parametrize("sampler", [rr_lyrae, cepheid, quasar, long_period_variable])
def test_amplitudes_fall_with_wavelength(sampler):
    ratios = np.median([amplitudes(star) / amplitudes(star)[2] for star in draw(sampler, 30)], axis=0)
    assert np.all(np.diff(ratios) < 0)
    slope = np.polyfit(np.log(UGRIZY[1:]), np.log(ratios[1:]), 1)[0]
    low, high = {quasar: (-0.8, -0.3)}.get(sampler, (-2.5, -0.9))
    assert low < slope < high


def test_eclipses_are_nearly_grey():
    stars = draw(eclipsing_binary, 60, contact_share=0.5)
    g_over_y = [amplitudes(star)[1] / amplitudes(star)[5] for star in stars]
    assert 0.9 < np.median(g_over_y) < 1.25
