"""What a change could not do, told as warnings: frameworks have no other place for it."""

from __future__ import annotations

import warnings

from monograph import Report


def told(report: Report) -> Report:
    """A report, after a warning of each of its problems: documents are stored, and the tree, say, could not follow."""
    for one in report.problems:
        warnings.warn(f"{one.reason} ({one.mend})" if one.mend else one.reason, RuntimeWarning, stacklevel=3)
    return report
