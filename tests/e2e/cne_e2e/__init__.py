"""Runs real Spark sessions and real pool processes on loopback and compares their answers with plain Spark's."""
