"""Rules: plain functions of beliefs. Which arm is pulled next, when it is decided, what is learned from all arms."""
