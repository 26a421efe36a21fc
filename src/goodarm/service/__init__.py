"""Campaigns over HTTP: tokens, roles and live updates around `goodarm.Campaign`."""
