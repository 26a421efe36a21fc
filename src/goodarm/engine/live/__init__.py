"""The engine of live campaigns: choose an arm, ask for its reward, and absorb the reward when it is told."""
