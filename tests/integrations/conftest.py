"""Scripts that tests run in other environments are not tests themselves."""

collect_ignore = ["inspect_run.py"]
