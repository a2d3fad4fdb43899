"""Catalogue, items.csv, splits and mismatched pairs: from the clinic's files to pairs."""
