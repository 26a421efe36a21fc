"""Adapters for the tools that people already use: pytest, Inspect, promptfoo, lm-eval and Optuna."""
