"""Token files, and whose token it is."""

import hashlib

import pytest

from store.core.tenant import BadTenants, Tenant, admitted, parsed

LONG = "a-token-that-is-long-enough"


def test_a_token_is_written_down_as_itself_or_by_its_digest() -> None:
    hashed = hashlib.sha256(b"another").hexdigest()
    tenants = parsed(f"# who may record\n\nresearch {LONG}\nbilling\tsha256:{hashed.upper()}\n")
    assert tenants == (Tenant.of(LONG, "research"), Tenant.of("another", "billing"))
    assert [tenant and tenant.name for tenant in (admitted(tenants, LONG), admitted(tenants, "another"))] == [
        "research",
        "billing",
    ]
    assert admitted(tenants, "") is None
    assert admitted(tenants, LONG + "x") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nobody\n",
        "research",
        f"a b {LONG}",
        "a short",
        f"a/b {LONG}",
        f"a {LONG}\na {LONG}2",
        f"a {LONG}\nb {LONG}",
    ],
)
def test_a_file_that_is_not_well_formed_says_the_line_and_not_the_token(text: str) -> None:
    with pytest.raises(BadTenants) as caught:
        parsed(text)
    assert LONG not in str(caught.value) + caught.value.hint
