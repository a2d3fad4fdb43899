"""Which models there are, where they lie, and what family each belongs to."""
