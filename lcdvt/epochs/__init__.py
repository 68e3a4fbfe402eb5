"""Epochs in memory: blocks of light curves, sorted and cleaned."""
