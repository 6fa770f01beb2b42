"""Drafting: what crossed the wire becomes what may be stored, in the process and the order in which it is stored.

Read `seen` first: the values that come in. `drafter` makes drafts of them, `desk` puts those before a writer.
"""
