"""Files of a survey to epochs, objects and features in the workspace."""
