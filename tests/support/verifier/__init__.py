"""A second verifier of the edgetape log, written from the page of its format alone."""

from tests.support.verifier.outcome import Finding, Outcome
from tests.support.verifier.whole import verify

__all__ = ["Finding", "Outcome", "verify"]
