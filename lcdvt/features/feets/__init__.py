"""feets as an engine, its known defects, and our features as its plugin."""
