"""The engine of live campaigns: choose an arm, ask for its reward, absorb the reward once it is told."""
