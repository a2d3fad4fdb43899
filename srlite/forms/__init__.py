"""The forms that a run's adapter can be exported to; exporting.py is the job."""
