"""Rules: plain functions of beliefs that choose the next arm, decide arms, and learn from all arms."""
