"""A clerk: a scribe in a process of its own, so that the one that carries traffic does nothing else.

Read `speech` first: what is said between the two. `office` is the clerk's process, `hiring` starts it, `clerk` is what
the recorder has of it.
"""
