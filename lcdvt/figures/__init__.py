"""Figures of plain arrays: a notebook shows them and a file keeps them."""
