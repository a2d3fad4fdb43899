"""What people say of descriptions: the CSV that the report saves, and the chained log that keeps it."""
