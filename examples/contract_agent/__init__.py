"""A small contract-reading agent: it asks a model and a compliance database and decides by a rule."""
