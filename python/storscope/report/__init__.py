"""The report: a verdict and the evidence under it as one HTML file.

One file holds everything: text, styles, scripts, chart data. It asks the network for nothing (its Content-Security-
Policy forbids it), so it can be mailed, archived and opened on a machine without a connection. Texts from captures are
untrusted: Jinja2 escapes them in the page, `pack.island_json` in the data.

`page` puts it together; one module a section prepares its data from the store (`reading`, `layers`), and the templates
and scripts only lay out and draw what they get. Nothing is drawn that was not observed: gaps stay gaps.
"""

from storscope.report.comparison_page import write_comparison_report
from storscope.report.knee_page import write_knee_report
from storscope.report.page import write_report
from storscope.report.run_page import write_run_report
from storscope.report.sweep_page import write_sweep_report

__all__ = ["write_comparison_report", "write_knee_report", "write_report", "write_run_report", "write_sweep_report"]
