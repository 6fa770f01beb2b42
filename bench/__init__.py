"""Measured figures, on recorded agent traffic that EDGETAPE_TEST_DATA names; not part of the program."""
