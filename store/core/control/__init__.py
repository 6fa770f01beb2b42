"""The control endpoint that recorder and replay share: what an agent may ask of them, and what it is told.

docs/control.md. Pure: whoever uses it carries out the calls.
"""
