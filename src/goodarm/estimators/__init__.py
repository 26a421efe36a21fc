"""Estimators: what is believed of each arm, and of all arms together."""
