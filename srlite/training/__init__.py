"""Sample, judge, update: GRPO in rounds."""
