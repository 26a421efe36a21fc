"""Benchmarks: how fast goodarm is, beside what it is compared with. `python -m benchmarks --help`.

One file a comparison, each with a `run() -> Section`. What is compared is measured in one run, in turns (A, B, A, B,
...), because the speed of a shared machine drifts more than the differences that are looked for.
"""
