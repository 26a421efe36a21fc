"""Options of the verbs that read a log: its columns, its test set, and result files of other tools."""

from __future__ import annotations

from typing import Annotated

from goodarm.cli._options import option, whole

Arm = Annotated[str | None, option("Column of the arms' names.", "COLUMN")]
Reward = Annotated[str | None, option("Column of the rewards.", "COLUMN")]
Unit = Annotated[str | None, option("Column of persons or sessions; all rows of one form one reward.", "COLUMN")]
Case = Annotated[str | None, option("Column of the test cases of a fixed test set.", "COLUMN")]
Cases = Annotated[int | None, option("Number of cases of the test set.", "N", parser=whole)]
Repeats = Annotated[int | None, option("With --case: evaluations of each case; their mean counts.", "R", parser=whole)]
Nulls = Annotated[str, option("Treatment of missing rewards.", "error|drop|zero")]
Format = Annotated[str | None, option("Result file of promptfoo, inspect or lm-eval.", "TOOL", "--format")]
Metric = Annotated[str | None, option("The score to use in a result file.", "NAME", "--metric")]
