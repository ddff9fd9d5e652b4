"""The workbench joins the rooms: sources write into the store, diagnosis and comparison read it.

It decides the order of steps and what belongs together; what is judged, and how, is decided below. One module a step,
imported by those who need that step: importing evidence need not load the rules.
"""
