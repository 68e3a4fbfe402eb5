"""Neighbours are other labelled stars, the nearest first."""

import numpy as np

from lcdvt.doubts.neighbours import counted_labels, nearest_labelled


def test_the_nearest_labelled_stars_come_first_and_never_the_star_itself():
    x = np.array([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0], [0.3, np.nan], [5.0, 5.0], [0.05, 0.0]])
    labelled = np.array([True, True, True, True, True, False])
    assert nearest_labelled(x, labelled, np.array([0, 4])).tolist() == [[1, 2, 3, 4], [3, 2, 1, 0]]


def test_stars_that_are_all_the_same_have_neighbours_too():
    near = nearest_labelled(np.zeros((20, 3)), np.ones(20, dtype=bool), np.arange(20))
    assert near.shape == (20, 5)
    assert not (near == np.arange(20)[:, None]).any()


def test_labels_are_counted_the_most_frequent_first():
    assert counted_labels("EB;CEP;CEP") == "2 CEP, 1 EB"
