"""Learners, which learn from all arms during a run. One learner per file."""
