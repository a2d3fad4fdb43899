"""Clips: probe, decode in a killable child, frames chosen by presentation time."""
