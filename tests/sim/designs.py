"""Designs for tests, as text."""

SMALL = """\
name = "small"

[[group]]
name = "g"
drive = "7200-sata"
count = 8
layout = "raid10"
segment = "64 KiB"

[[volume]]
name = "data"
group = "g"
size = "200 GiB"

[[volume]]
name = "log"
group = "g"
size = "10 GiB"

[[controller]]
name = "A"
cost_per_op = "20 us"

[[host]]
name = "esx1"
volumes = [{ volume = "data" }, { volume = "log" }]

[[host]]
name = "esx2"
volumes = [{ volume = "data" }]
"""
