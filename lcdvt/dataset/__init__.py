"""Features and labels of several surveys as one dataset: alignment, draws, folds, scaling."""
