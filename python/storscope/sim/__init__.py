"""The array simulator: designs, what runs on them, and what came out, as tables."""
