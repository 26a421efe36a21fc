"""Learners: what is learned from all arms while the rewards come in. One learner per file."""
