"""Rivals of DVT, each with fit and predict_proba."""
