"""Campaigns over HTTP: people, rights and live updates around `goodarm.Campaign`; no logic of its own."""
