"""What is loaded into an agent's own processes, before its program: made for other interpreters than ours.

`python/` is a folder for PYTHONPATH, `node/` holds what `NODE_OPTIONS=--require` loads. Nothing here is imported by us.
"""
