"""What is stored of a survey: its folder, its journal, its objects, and how it is opened."""
