"""What leaves the workspace for other tools."""
