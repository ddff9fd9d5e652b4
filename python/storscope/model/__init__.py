"""Statistics of storage: pure functions on arrays. It knows numbers and their units, and no table, store or rule."""
