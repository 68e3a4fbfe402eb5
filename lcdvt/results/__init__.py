"""What is kept of a run: its folder, its model, its draws, and what it says of other stars."""
