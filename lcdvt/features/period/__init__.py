"""The period search: scan, fit, choice, significance, shape."""
