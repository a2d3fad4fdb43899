"""Threads, turns and memory of the one machine."""
