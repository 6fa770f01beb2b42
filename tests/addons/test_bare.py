"""A recorder loads of mitmproxy's add-ons those that it uses; whoever names another still gets it."""

import subprocess
import sys

PROGRAM = """
import sys
import addons.recorder
assert not {"flask", "ldap3", "mitmproxy.addons.onboarding"} & sys.modules.keys()
from mitmproxy.addons import savehar
from mitmproxy import addons as theirs
assert theirs.savehar.SaveHar is savehar.SaveHar
"""


def test_what_no_recorder_needs_is_not_loaded() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
