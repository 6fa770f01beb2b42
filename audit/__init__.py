"""The audit wing: where people look at runs."""
