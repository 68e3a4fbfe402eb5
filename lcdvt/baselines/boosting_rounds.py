"""One round of histogram boosting, compiled: a tree for each class, grown leaf by leaf from sums over bins.

It is scikit-learn's algorithm step by step, and gives the same trees to the last digit: gradients in single precision,
sums over bins in double precision, the histogram of a larger child by subtraction, ties as they fall there, the same
features drawn for each split. There a tree of a few hundred rows is some hundred calls from Python, which cost thirty
times what they do.

Trees are rows of tables, node 0 is the root, and the children of a node stand beside each other.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.compiled.kernel import apart_part, inlined_part, kernel, part, small_part

# Columns of a node's numbers while its tree grows.
GRADIENT, CURVATURE, VALUE, GAIN, LEFT_GRADIENT, LEFT_CURVATURE = range(6)
NUMBERS: Final = 6
# Columns of its places, the first of which stay when the tree is grown: on which feature and bin it is split (-1 for a
# leaf), its left child, and whether a missing value goes there.
FEATURE, BIN, CHILD, MISSING_LEFT, BEGIN, END, HISTOGRAM = range(7)
KEPT: Final = 4
PLACES: Final = 7
LEAF: Final = -1
# A bin's sums: of gradients, of second derivatives, and how many rows.
SUMS: Final = 3
_NO_LESS = 1e-15
_LEAST_CURVATURE = 1e-3
_FLAT = -37.0
"""Below this the logistic function is the exponential to the last digit."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Rows(NamedTuple):
    """What is learned from.

    Attributes
    ----------
    bins
        (rows, features): numbers of bins; rows without a value have the last.
    used
        How many bins of each feature have values.
    gaps
        Whether any row lacks the feature.
    classes, weights
        Of each row.
    """

    bins: NDArray[np.uint8]
    used: Integers
    gaps: NDArray[np.bool_]
    classes: Integers
    weights: Floats


class Settings(NamedTuple):
    """How trees grow.

    Attributes
    ----------
    leaves, smallest_leaf
        Most leaves of a tree, and least rows of a leaf.
    drawn
        How many features are looked at for each split.
    learning_rate
        What of a leaf's value counts.
    """

    leaves: int
    smallest_leaf: int
    drawn: int
    learning_rate: float


class Work(NamedTuple):
    """Arrays to work in, and what one round hands to the next.

    Attributes
    ----------
    raw
        (trees a round, rows): the sum of all trees so far.
    gradient, curvature
        First and second derivatives of the loss by it.
    share
        Room for a number of each class.
    chance, place
        Random numbers of 32 bits, and how many of them are used up.
    looked_at
        Which features are looked at.
    order, buffer
        Rows in the order of the leaves, and room for as many.
    histograms
        (nodes that may still be split, features, bins, sums).
    heap
        Nodes that may be split, and one more place for how many they are.
    numbers, places
        Of each node of the tree that grows.
    """

    raw: Floats
    gradient: NDArray[np.float32]
    curvature: NDArray[np.float32]
    share: Floats
    chance: NDArray[np.uint32]
    place: Integers
    looked_at: NDArray[np.bool_]
    order: Integers
    buffer: Integers
    histograms: Floats
    heap: Integers
    numbers: Floats
    places: Integers


@kernel
def boost(rows: Rows, settings: Settings, work: Work, trees: Integers, values: Floats) -> None:
    """Grow one tree for each class, or one for both of two.

    Parameters
    ----------
    rows, settings, work
        What is learned from, and how.
    trees, values
        (trees, nodes, `KEPT`) and (trees, nodes): where the trees go.
    """
    if len(work.raw) == 1:
        _derivatives_of_two(rows, work)
    else:
        _derivatives(rows, work)
    for tree in range(len(trees)):
        _grow(rows, settings, work, tree)
        for node in range(trees.shape[1]):
            for column in range(KEPT):
                trees[tree, node, column] = work.places[node, column]
            values[tree, node] = work.numbers[node, VALUE]


@part
def _derivatives(rows: Rows, work: Work) -> None:
    """Differentiate the log-likelihood of a softmax."""
    raw, gradient, curvature = work.raw, work.gradient, work.curvature
    share = work.share
    for row in range(raw.shape[1]):
        highest = raw[0, row]
        for k in range(1, len(raw)):
            if highest < raw[k, row]:
                highest = raw[k, row]
        total = 0.0
        for k in range(len(raw)):
            share[k] = math.exp(raw[k, row] - highest)
            total += share[k]
        weight = rows.weights[row]
        for k in range(len(raw)):
            probability = share[k] / total
            truth = 1.0 if rows.classes[row] == k else 0.0
            gradient[k, row] = (probability - truth) * weight
            curvature[k, row] = (probability * (1.0 - probability)) * weight


@part
def _derivatives_of_two(rows: Rows, work: Work) -> None:
    """Differentiate the log-likelihood of a logistic function."""
    for row in range(work.raw.shape[1]):
        raw, truth, weight = work.raw[0, row], float(rows.classes[row]), rows.weights[row]
        if raw > _FLAT:
            against = math.exp(-raw)
            first = ((1.0 - truth) - truth * against) / (1.0 + against)
            second = against / ((1.0 + against) * (1.0 + against))
        else:
            second = math.exp(raw)
            first = second - truth
        work.gradient[0, row] = first * weight
        work.curvature[0, row] = second * weight


@small_part
def _grow(rows: Rows, settings: Settings, work: Work, tree: int) -> None:
    """Grow one tree, the leaf first that gains most; and add what it says to the sum of all trees."""
    numbers, places, heap = work.numbers, work.places, work.heap
    most = 2 * settings.leaves - 1
    count = len(work.order)
    for row in range(count):
        work.order[row] = row
    for node in range(most):
        places[node, FEATURE] = LEAF
    _fill(rows, work, tree, 0, count, 0)
    numbers[0, GRADIENT] = _sum_over_bins(work.histograms, 0)
    numbers[0, CURVATURE] = _sum_over_bins(work.histograms, 1)
    numbers[0, VALUE] = 0.0
    places[0, BEGIN], places[0, END], places[0, HISTOGRAM], places[0, CHILD] = 0, count, 0, LEAF
    nodes, histograms, finished, last = 1, 1, 0, len(heap) - 1
    heap[last] = 0
    if count < 2 * settings.smallest_leaf or numbers[0, CURVATURE] < _LEAST_CURVATURE:
        finished = 1
    elif _find_split(rows, settings, work, 0):
        _push(heap, numbers, 0)
    else:
        finished = 1
    while heap[last] > 0:
        node = _pop(heap, numbers)
        left, right = nodes, nodes + 1
        nodes += 2
        _divide(rows, work, node, left)
        leaves = finished + heap[last] + 2
        if leaves == settings.leaves:
            break
        size_left = places[left, END] - places[left, BEGIN]
        size_right = places[right, END] - places[right, BEGIN]
        split_left = size_left >= 2 * settings.smallest_leaf
        split_right = size_right >= 2 * settings.smallest_leaf
        if split_left or split_right:
            smaller, larger = (left, right) if size_left < size_right else (right, left)
            places[smaller, HISTOGRAM], places[larger, HISTOGRAM] = histograms, places[node, HISTOGRAM]
            histograms += 1
            _fill(rows, work, tree, places[smaller, BEGIN], places[smaller, END], places[smaller, HISTOGRAM])
            _subtract(work.histograms, places[larger, HISTOGRAM], places[smaller, HISTOGRAM])
        for child in range(left, right + 1):
            if (split_left if child == left else split_right) and _find_split(rows, settings, work, child):
                _push(heap, numbers, child)
            else:
                finished += 1
    _add_leaves(settings, work, tree, nodes)


@part
def _add_leaves(settings: Settings, work: Work, tree: int, nodes: int) -> None:
    numbers, places = work.numbers, work.places
    for node in range(nodes):
        if places[node, CHILD] == LEAF:
            places[node, FEATURE] = LEAF
            numbers[node, VALUE] *= settings.learning_rate
            for place in range(places[node, BEGIN], places[node, END]):
                work.raw[tree, work.order[place]] += numbers[node, VALUE]


@part
def _fill(rows: Rows, work: Work, tree: int, begin: int, end: int, histogram: int) -> None:
    """Sum derivatives of a node's rows in the bins of each feature."""
    sums = work.histograms[histogram]
    _set_to_zero(sums)
    for place in range(begin, end):
        row = work.order[place]
        _add_row(rows.bins[row], work.gradient[tree, row], work.curvature[tree, row], sums)


@apart_part
def _set_to_zero(sums: Floats) -> None:
    for feature in range(sums.shape[0]):
        for number in range(sums.shape[1]):
            for each in range(SUMS):
                sums[feature, number, each] = 0.0


@apart_part
def _add_row(bins: NDArray[np.uint8], first: float, second: float, sums: Floats) -> None:
    """Add a row to all features' bins: feature by feature, each addition to a bin would wait for the one before."""
    for feature in range(sums.shape[0]):
        number = bins[feature]
        sums[feature, number, 0] += first
        sums[feature, number, 1] += second
        sums[feature, number, 2] += 1.0


@part
def _subtract(histograms: Floats, larger: int, smaller: int) -> None:
    """Leave in a parent's place what its larger child has."""
    for feature in range(histograms.shape[1]):
        for number in range(histograms.shape[2]):
            for each in range(SUMS):
                histograms[larger, feature, number, each] -= histograms[smaller, feature, number, each]


@part
def _sum_over_bins(histograms: Floats, which: int) -> float:
    """Sum over all rows by the bins of the first feature, in the order in which NumPy sums up to 128 numbers."""
    bins = histograms.shape[2]
    lanes = 8
    even = bins - bins % lanes
    total = 0.0
    if even > 0:
        pairs = 0.0
        fours = 0.0
        for lane in range(lanes):
            part_sum = histograms[0, 0, lane, which]
            for number in range(lane + lanes, even, lanes):
                part_sum += histograms[0, 0, number, which]
            pairs = part_sum if lane % 2 == 0 else pairs + part_sum
            if lane % 4 == 1:
                fours = pairs
            elif lane == 3:
                total = fours + pairs
            elif lane == 7:
                total += fours + pairs
    for number in range(even, bins):
        total += histograms[0, 0, number, which]
    return total


@inlined_part
def _value(gradient: float, curvature: float) -> float:
    return -gradient / (curvature + _NO_LESS)


@part
def _find_split(rows: Rows, settings: Settings, work: Work, node: int) -> bool:
    """Find where a node is split best; say whether anything is gained anywhere."""
    numbers, places, histograms = work.numbers, work.places, work.histograms
    if settings.drawn < len(work.looked_at):
        _draw_features(settings, work)
    histogram = places[node, HISTOGRAM]
    gradient, curvature = numbers[node, GRADIENT], numbers[node, CURVATURE]
    count = float(places[node, END] - places[node, BEGIN])
    now = gradient * numbers[node, VALUE]
    smallest = float(settings.smallest_leaf)
    numbers[node, GAIN] = 0.0
    for feature in range(len(rows.used)):
        if not work.looked_at[feature]:
            continue
        turns = 2 if rows.gaps[feature] else 1
        # Rows without a value go to the right; where there are any, to the left as well.
        for turn in range(turns):
            steps = rows.used[feature] if turns == 2 and turn == 0 else rows.used[feature] - 1
            first_sum, second_sum, number_of_rows = 0.0, 0.0, 0.0
            for step in range(steps):
                number = step if turn == 0 else rows.used[feature] - 1 - step
                first_sum += histograms[histogram, feature, number, 0]
                second_sum += histograms[histogram, feature, number, 1]
                number_of_rows += histograms[histogram, feature, number, 2]
                if number_of_rows < smallest or second_sum < _LEAST_CURVATURE:
                    if count - number_of_rows < smallest:
                        break
                    continue
                other_first, other_second = gradient - first_sum, curvature - second_sum
                if count - number_of_rows < smallest or other_second < _LEAST_CURVATURE:
                    break
                if turn == 0:
                    left_first, left_second, right_first, right_second = (
                        first_sum, second_sum, other_first, other_second,
                    )  # fmt: skip
                else:
                    left_first, left_second, right_first, right_second = (
                        other_first, other_second, first_sum, second_sum,
                    )  # fmt: skip
                gain = now - left_first * _value(left_first, left_second)
                gain -= right_first * _value(right_first, right_second)
                if gain > numbers[node, GAIN]:
                    numbers[node, GAIN] = gain
                    numbers[node, LEFT_GRADIENT], numbers[node, LEFT_CURVATURE] = left_first, left_second
                    places[node, FEATURE], places[node, BIN] = feature, number - turn
                    places[node, MISSING_LEFT] = turn
    return numbers[node, GAIN] > 0.0


@part
def _draw_features(settings: Settings, work: Work) -> None:
    """Draw the features that are looked at, as NumPy's generator shuffles."""
    looked_at, chance = work.looked_at, work.chance
    for feature in range(len(looked_at)):
        looked_at[feature] = feature < settings.drawn
    place = work.place[0]
    within = 1  # the least 2ⁿ - 1 that is not below the last place
    while within < len(looked_at) - 1:
        within = 2 * within + 1
    for last in range(len(looked_at) - 1, 0, -1):
        if within >> 1 >= last:
            within >>= 1
        other = np.int64(len(looked_at))
        while other > last:
            other = np.int64(chance[place]) & within
            place = place + 1 if place + 1 < len(chance) else 0
        looked_at[last], looked_at[other] = looked_at[other], looked_at[last]
    work.place[0] = place


@part
def _divide(rows: Rows, work: Work, node: int, left: int) -> None:
    """Sort a node's rows into its children, and tell the children what is known of them."""
    numbers, places, order = work.numbers, work.places, work.order
    feature, last_bin = places[node, FEATURE], places[node, BIN]
    missing = work.histograms.shape[2] - 1
    begin, end = places[node, BEGIN], places[node, END]
    kept, moved = begin, 0
    for place in range(begin, end):
        row = order[place]
        number = np.int64(rows.bins[row, feature])
        if number <= last_bin or (places[node, MISSING_LEFT] == 1 and number == missing):
            order[kept] = row
            kept += 1
        else:
            work.buffer[moved] = row
            moved += 1
    for place in range(moved):
        order[kept + place] = work.buffer[place]
    if not rows.gaps[feature]:
        # A row without the feature goes where most went.
        places[node, MISSING_LEFT] = 1 if kept - begin > moved else 0
    right = left + 1
    places[node, CHILD] = left
    places[left, BEGIN], places[left, END] = begin, kept
    places[right, BEGIN], places[right, END] = kept, end
    numbers[left, GRADIENT], numbers[left, CURVATURE] = numbers[node, LEFT_GRADIENT], numbers[node, LEFT_CURVATURE]
    numbers[right, GRADIENT] = numbers[node, GRADIENT] - numbers[node, LEFT_GRADIENT]
    numbers[right, CURVATURE] = numbers[node, CURVATURE] - numbers[node, LEFT_CURVATURE]
    for child in range(left, left + 2):
        numbers[child, VALUE] = _value(numbers[child, GRADIENT], numbers[child, CURVATURE])
        places[child, CHILD] = LEAF


@part
def _push(heap: Integers, numbers: Floats, node: int) -> None:
    """Put a node into the heap, whose first one gains most."""
    last = len(heap) - 1
    heap[heap[last]] = node
    heap[last] += 1
    _move_up(heap, numbers, 0, heap[last] - 1)


@part
def _pop(heap: Integers, numbers: Floats) -> int:
    """Take the node that gains most, as Python's heap does, so that equal ones come in the same order."""
    last = len(heap) - 1
    heap[last] -= 1
    size = heap[last]
    node, moved = heap[0], heap[size]
    if size == 0:
        return moved
    place, child = 0, 1
    while child < size:
        if child + 1 < size and not numbers[heap[child], GAIN] > numbers[heap[child + 1], GAIN]:
            child += 1
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = moved
    _move_up(heap, numbers, 0, place)
    return node


@part
def _move_up(heap: Integers, numbers: Floats, start: int, place: int) -> None:
    node = heap[place]
    while place > start:
        parent = heap[(place - 1) >> 1]
        if not numbers[node, GAIN] > numbers[parent, GAIN]:
            break
        heap[place] = parent
        place = (place - 1) >> 1
    heap[place] = node


@kernel
def add_trees(x: Floats, trees: Integers, limits: Floats, values: Floats, raw: Floats) -> None:
    """Add what trees say of rows.

    Parameters
    ----------
    x
        (rows, features).
    trees, limits, values
        (trees, nodes, `KEPT`), and (trees, nodes) of the greatest value that goes to the left, and of what leaves say.
    raw
        (trees a round, rows): what is added to.
    """
    for row in range(len(x)):
        for tree in range(len(trees)):
            node = np.int64(0)
            while trees[tree, node, FEATURE] != LEAF:
                value = x[row, trees[tree, node, FEATURE]]
                is_left = trees[tree, node, MISSING_LEFT] == 1 if math.isnan(value) else value <= limits[tree, node]
                node = trees[tree, node, CHILD] + (0 if is_left else 1)
            raw[tree % len(raw), row] += values[tree, node]
