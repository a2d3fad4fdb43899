"""One self-contained HTML file to read, print and review: of a run (`write_report`) or of assessments (`assessment_page`)."""

from srlite.report.assessments import assessment_page
from srlite.report.writing import write_report

__all__ = ["assessment_page", "write_report"]
