"""Diagnosis: rules that read the tables and conclude."""
