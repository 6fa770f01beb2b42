"""`edgetape doctor`: which programs of this machine can be recorded as they are, and what keeps the others from it."""
