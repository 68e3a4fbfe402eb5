"""The compiled scanner against Python's own float and split."""

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lcdvt.catalogs.reading.scan import (
    NOT_A_NUMBER,
    TOO_FEW_COLUMNS,
    TOO_MANY_COLUMNS,
    WHITESPACE_RUNS,
    scan_texts,
)


def scan_numbers(text: str, **changes):
    settings = {"separator": ord(","), "comment": ord("#"), "numeric_columns": (0, 1)} | changes
    return scan_texts([text.encode()], [0], **settings)


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["{!r}", "{:.3f}", "{:e}", "{:+.6g}", "{:.17g}"])
)
@example(5e-324, "{!r}")
@example(1.7976931348623157e308, "{!r}")
@example(0.1 + 0.2, "{:.17g}")
def test_numbers_are_the_same_as_pythons(value, form):
    text = form.format(value)
    assert scan_numbers(f"{text},1\n").values[0, 0] == float(text)


@given(st.text(alphabet=" 0123456789.eE+-naif", min_size=1, max_size=8))
@example("0E100000")
@example("1e99999")
def test_what_python_refuses_is_never_a_number(text):
    token = text.strip()
    found = scan_numbers(f"{text},1\n")
    try:
        expected = float(token)
    except ValueError:
        is_missing = not found.fault[0] and math.isnan(found.values[0, 0])
        assert found.fault[0] == NOT_A_NUMBER or (is_missing and token.lower() in ("", "na", "-", "--"))
        return
    value = found.values[0, 0]
    assert value == expected or (math.isnan(value) and not math.isfinite(expected))


def test_missing_words_are_missing_not_wrong():
    found = scan_numbers("nan,1\nNULL,1\n,1\n--,1\nuntrusted,1\n")
    assert [math.isnan(value) for value in found.values[:, 0]] == [True] * 5
    assert not found.fault.any()


def test_a_limit_is_told_from_a_missing_value():
    found = scan_numbers(">18.2,1\n<3,1\n1.5,>x\n2.5,> 16.25\n1e400,2\n")
    np.testing.assert_array_equal(found.values[:, 0], [math.nan, math.nan, 1.5, 2.5, math.nan])
    assert not found.fault.any()
    rows, limits = found.limits[0]
    assert (rows.tolist(), limits.tolist()) == ([0, 1], [18.2, 3.0])
    rows, limits = found.limits[1]
    np.testing.assert_array_equal(rows, [2, 3])
    np.testing.assert_array_equal(limits, [math.nan, 16.25])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.sampled_from("<>"))
def test_limits_are_the_same_as_pythons(values, sign):
    found = scan_numbers("".join(f"{value!r},{sign}{value!r}\n" for value in values))
    rows, limits = found.limits[1]
    assert (rows.tolist(), limits.tolist()) == (list(range(len(values))), values)
    assert found.values[:, 0].tolist() == values


def test_faults_carry_their_line_number():
    found = scan_numbers("# header\n1,2\n\n3\n4,5,6\n7,x\n8,9\n")
    assert found.line_number.tolist() == [2, 4, 5, 6, 7]
    assert found.fault.tolist() == [0, TOO_FEW_COLUMNS, TOO_MANY_COLUMNS, NOT_A_NUMBER, 0]


def test_crlf_quotes_trailing_separators_and_missing_last_newline():
    found = scan_numbers('"1.5",2,\r\n3,"4",\r\n5,6,', column_count=2)
    assert found.values.tolist() == [[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert not found.fault.any()


def test_a_quoted_field_may_hold_the_separator():
    found = scan_texts(
        [b'"a,b",1\nc,2\n'], [0], separator=44, comment=-1, numeric_columns=(1,), text_columns=(0,), identity_columns=1
    )
    assert found.values[:, 0].tolist() == [1.0, 2.0]
    assert (found.text_start[0, 0], found.text_stop[0, 0]) == (1, 4)
    assert found.text_hash[0] != found.text_hash[1]


def test_runs_of_blanks_count_as_one():
    found = scan_numbers("   1.5 \t  2.5  \n3  4\n", separator=WHITESPACE_RUNS)
    assert found.values.tolist() == [[1.5, 2.5], [3.0, 4.0]]


def test_identity_tells_neighbouring_columns_apart():
    texts = [b"1;23;x\n", b"12;3;x\n"]
    hashes = [
        scan_texts(
            [text], [0], separator=59, comment=-1, numeric_columns=(), text_columns=(0, 1), identity_columns=2
        ).text_hash[0]
        for text in texts
    ]
    assert hashes[0] != hashes[1]


LINES = st.sampled_from(
    ["1,2", "3.5,-4", "# comment", "", "  ", "5", "6,7,8", "x,1", "1e400,2", "nan,", '"9",10', "1,2,"]
)


@given(
    st.lists(st.tuples(st.lists(LINES, max_size=6), st.booleans(), st.sampled_from(["\n", "\r\n"])), max_size=5),
    st.sampled_from([0, 2]),
)
def test_many_texts_at_once_are_read_as_one_by_one(described, column_count):
    texts = [newline.join(lines) + newline * ends for lines, ends, newline in described]
    settings = {"separator": ord(","), "comment": ord("#"), "numeric_columns": (0, 1), "column_count": column_count}
    together = scan_texts([text.encode() for text in texts], [0] * len(texts), **settings)
    for place, text in enumerate(texts):
        alone = scan_numbers(text, column_count=column_count)
        rows = slice(*together.row_start[place : place + 2])
        np.testing.assert_array_equal(together.values[rows], alone.values)
        assert together.fault[rows].tolist() == alone.fault.tolist()
        assert together.line_number[rows].tolist() == alone.line_number.tolist()


def test_skipped_bytes_are_not_read():
    found = scan_texts(
        [b"a,b\n1,2\n", b"3,4"], [4, 0], separator=ord(","), comment=-1, numeric_columns=(0, 1), column_count=2
    )
    assert found.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.row_start.tolist() == [0, 1, 2]


def test_a_line_that_is_too_short_has_no_values():
    found = scan_numbers("1,2,3\n4\n5,6\n", numeric_columns=(0, 1, 2), column_count=3)
    assert np.isnan(found.values[1:]).all()
