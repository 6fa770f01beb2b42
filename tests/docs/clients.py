"""The table of docs/clients.md, from the clients that `edgetape doctor` tries (`python -m tests.docs.clients`)."""

import re
from pathlib import Path

from proxy.doctor.clients import CLIENTS

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


def written(page: str) -> str:
    """The page with its table as the program is now."""
    rows = [f"| {client.name} | {client.obeys or 'nothing: ' + client.advice} |" for client in CLIENTS]
    table = "\n".join(["| client | goes through the recorder, and trusts it, by |", "|---|---|", *rows, ""])
    block = re.compile(r"(<!-- table: clients -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda found: found[1] + table + found[2], page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
