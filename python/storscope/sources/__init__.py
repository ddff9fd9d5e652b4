"""Where numbers come from: importers of captures, collectors, and the ways into archives and streams.

A source writes tables through a `Recorder` and knows neither the store nor the other sources.
"""
