"""srlite learns to describe item-specific behaviour in clips from clinical outcomes.

The jobs are plain functions, for notebooks as for the command line:

    srlite.check(items_csv, videos)                     -> Check
    srlite.train(items_csv, videos, run=...)            -> TrainingResult
    srlite.evaluate(items_csv, videos, run=...)         -> Evaluation
    srlite.assess([clip], "30_1", run=...)              -> iterator of Assessment or Failed
    srlite.export_run(run, to=..., out=...)             -> Exported
    srlite.write_report(run)                            -> Written
    srlite.add_reviews(review_csv, run=...)             -> Added
    srlite.purge(child, runs=[...])                     -> Survey

They are imported when first asked for: `import srlite` loads nothing heavy.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_JOBS = {
    "check": "srlite.checking",
    "train": "srlite.training.job",
    "evaluate": "srlite.evaluation.protocol",
    "assess": "srlite.assessing.job",
    "export_run": "srlite.exporting",
    "write_report": "srlite.report.writing",
    "add_reviews": "srlite.reviewing",
    "purge": "srlite.purging.job",
}


def __getattr__(name: str):
    if name in _JOBS:
        return getattr(importlib.import_module(_JOBS[name]), name)
    raise AttributeError(f"module 'srlite' has no attribute {name!r}")
