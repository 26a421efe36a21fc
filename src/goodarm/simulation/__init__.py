"""Simulation: many runs of a policy on an environment, on threads, processes or a cluster."""
