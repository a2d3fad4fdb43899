"""Base beside adapted, item by item."""
