"""The sealed form of what stands beside the bodies of a run: its events and its openings, many in one block.

docs/format.md, section 8. All rooms are pure: values in, values out (primer reads the files beside it, once).

    frame       one zstd frame of known length, and a check around it
    primer      texts that a frame is compressed against
    digits      hex digits out of a text, as the bytes that they spell
    envelopes   the events of a run, some hundred a block; each event comes back as it was, byte by byte
    order       records of all blocks, one after another
    openings    its openings, with the places of the bodies
"""
