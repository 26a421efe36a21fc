"""Adapters for pytest, Inspect, promptfoo, lm-eval, Optuna and notebooks."""
