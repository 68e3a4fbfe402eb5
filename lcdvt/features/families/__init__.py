"""One family of features in each file: its compiled kernels over a batch of light curves."""
