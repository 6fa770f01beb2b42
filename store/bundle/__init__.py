"""Evidence bundles: one file that holds runs and verifies alone (docs/format.md, section 9).

`container`, `manifest`, `contents` and `records` are pure; `source` opens files, `export` reads the store.
"""
