"""The splice log: how the bodies of one run are stored, as copies from earlier ones plus their few new bytes.

An LLM request repeats its whole conversation. So a body is a *piece* of one append-only log a run: a recipe (copies
from an earlier body of the run) followed by the literal bytes that no copy gives. The log is compressed as a stream,
cut into frames and blocks, and each block is guarded (checked or encrypted) by itself. All rooms are pure: values in,
values out.

    varint, recipe      the bytes of a piece
    difference, heads   finding a base, and the copies from it
    splicer             writing: bodies in, log bytes out; can be undone
    stream, livelog     the log as compressed blocks, flushed at each commit; a tighter form once a run is closed
    guard               what stands around a stored block
    blocklog, resolver  reading: blocks to log bytes, a piece to its body, in bounded time
    recoding            undoes a content coding where doing it again gives the same bytes
    erasure             a run's log without some of its bodies
"""
