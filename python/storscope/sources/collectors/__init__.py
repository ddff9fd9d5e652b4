"""Collectors: they watch a running system and write the same tables as the importers."""
