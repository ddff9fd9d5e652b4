"""Benchmarks: what is asked of the storage, and what it answered."""
