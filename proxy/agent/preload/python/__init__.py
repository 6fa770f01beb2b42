"""A folder for PYTHONPATH: Python loads its `sitecustomize` at every start."""
