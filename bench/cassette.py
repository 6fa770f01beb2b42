"""Plays a cassette of vcrpy in process: everything asked for once through urllib3, all of a request compared.

    PYTHONPATH=FOLDER_WITH_VCRPY python -m bench.cassette PAIRS RESULT

Client and server are one process here, so the time of both is told.
"""

import json
import sys
import time
from pathlib import Path

from bench.asker import HOST, PATH

_COMPARED = ("method", "scheme", "host", "port", "path", "query", "body")


def main() -> None:
    """Write a cassette, ask, and write down how long that took."""
    import urllib3
    import vcr  # type: ignore[import-not-found, import-untyped, unused-ignore]  # in a folder of its own
    from vcr.serializers import jsonserializer  # type: ignore[import-not-found, import-untyped, unused-ignore]

    pairs = json.loads(Path(sys.argv[1]).read_text())
    url, headers = f"https://{HOST}{PATH}", {"Content-Type": "application/json", "Accept": "*/*"}
    interactions = [
        {
            "request": {"method": "POST", "uri": url, "body": asked, "headers": {}},
            "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": answered}},
        }
        for asked, answered in pairs
    ]
    cassette = Path(sys.argv[2]).with_suffix(".cassette")
    cassette.write_text(jsonserializer.serialize({"version": 1, "interactions": interactions}))
    player = vcr.VCR(serializer="json", record_mode="none", match_on=_COMPARED)
    with player.use_cassette(str(cassette)):
        pool = urllib3.PoolManager()
        began, used = time.perf_counter(), time.process_time()
        for asked, answered in pairs:
            response = pool.request("POST", url, body=asked.encode(), headers=headers)
            assert len(response.data) == len(answered)
        figures = {
            "count": len(pairs), "wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - used,
        }  # fmt: skip
    Path(sys.argv[2]).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
