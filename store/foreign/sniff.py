"""What kind of foreign file some bytes are, told by what stands in them and not by their name. Pure."""

import re
from typing import Literal

from store.foreign import cassette, document, har
from store.foreign.document import Tree, members
from store.foreign.recording import NotForeign, Recording

type Found = Literal["bundle", "flows", "document"]

_ZIP_MARK, _TAR_MARK, _TAR_MARK_AT = b"PK\x03\x04", b"ustar", 257
_FLOWS = re.compile(rb"\d{1,9}:")  # a netstring: a flow file of mitmproxy is a row of them

_HINT = "a bundle, a HAR file, a flow file of mitmproxy, or a cassette of vcrpy (YAML or JSON)"


def kind(head: bytes) -> Found:
    """What a file that begins so is, as far as that tells. 512 bytes are enough."""
    if head.startswith(_ZIP_MARK) or head[_TAR_MARK_AT:].startswith(_TAR_MARK):
        return "bundle"
    return "flows" if _FLOWS.match(head) else "document"


def read(raw: bytes) -> Recording:
    """A HAR file or a cassette. Raises NotForeign for anything else."""
    content = document.unpacked(raw).removeprefix(b"\xef\xbb\xbf")
    tree = _tree(content)
    if "log" in members(tree):
        return har.recording(tree)
    if "interactions" in members(tree) or "http_interactions" in members(tree):
        return cassette.recording(tree)
    raise NotForeign("this file is nothing that can be imported", hint=_HINT)


def _tree(content: bytes) -> Tree:
    if content.lstrip()[:1] in (b"{", b"["):
        return document.from_json(content)
    if not re.search(rb"^\W*(http_)?interactions\W*:", content, re.MULTILINE):
        raise NotForeign("this file is nothing that can be imported", hint=_HINT)
    return document.from_yaml(content)
