"""How a verifier key is given on the command line: as it is, or in a file."""

from pathlib import Path

from proxy.border import Misuse
from store.core.checkpoint import VerifierKey
from store.core.errors import Malformed
from store.reasons import reason


def verifier_key(given: str | None) -> VerifierKey | None:
    """A vkey as it is, or the first line of a file that holds one. Raises Misuse."""
    if given is None:
        return None
    text = given
    if "+" not in given or Path(given).is_file():
        try:
            text = Path(given).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Misuse(f"no verifier key can be read from {given}: {reason(error)}") from error
    try:
        return VerifierKey.parse(text)
    except Malformed as error:
        raise Misuse(
            f"{given}: {error}", hint="a vkey is NAME+ID+KEY: `edgetape keys export` prints it where the key is kept"
        ) from error
