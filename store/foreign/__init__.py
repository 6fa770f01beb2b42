"""Recordings that other tools made: read into values, and written into the store as runs of mode `import`.

`sniff` tells what a file is; `har` and `cassette` read it, pure; `addons.flowfile` reads what only mitmproxy can;
`intake` writes. Nobody signed what stands in such a file: of its origin the run only claims (docs/imports.md).
"""
