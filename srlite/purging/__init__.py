"""`srlite purge`: forget a child. job.py does it, whom.py knows whom, parts.py what a run holds of it."""
