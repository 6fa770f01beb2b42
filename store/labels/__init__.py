"""Mezzanine, pure: what an exchange means. Read classify first: its table of dialects is the mezzanine."""
