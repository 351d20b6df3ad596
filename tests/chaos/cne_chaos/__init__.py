"""Faults on purpose, and what the pool makes of them: see ../README.md."""
