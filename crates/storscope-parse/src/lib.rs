//! Fast readers for counter files that are too wide or too long for Python.
