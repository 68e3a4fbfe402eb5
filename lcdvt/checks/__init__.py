"""Is all well? Stored files against what was written, and the installation."""
