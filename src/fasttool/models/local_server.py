"""The process in which the local model runs; ``LocalModelServer`` starts it, by the path of this file.

It writes one line of JSON to its standard output when it listens, with its address and the key that
it wants, and ends when its standard input ends: the parent holds the other end, so it ends with the
parent, however that ends.  It imports nothing of fasttool.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import threading
import time
from pathlib import Path

POLL_SECONDS = 0.5


def main() -> None:
    """Serve until the standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--template", required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--context", type=int, required=True, help="tokens of one slot")
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()

    parent = os.getppid()
    threading.Thread(target=_end_with_input, daemon=True).start()
    # The library may print; the parent reads only what is written here.
    report = os.dup(1)
    os.dup2(2, 1)

    import xllamacpp

    key = secrets.token_urlsafe()  # a web page that guesses the port gets nothing
    params = xllamacpp.CommonParams()
    params.model.path = options.weights
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.n_parallel = options.slots
    params.n_ctx = options.context * options.slots
    params.use_jinja = True
    params.chat_template = Path(options.template).read_text(encoding="utf-8")
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.warmup = False
    params.verbosity = 1  # errors
    server = xllamacpp.Server(params)
    os.write(report, json.dumps({"url": server.listening_address, "key": key}).encode() + b"\n")
    os.close(report)
    # A fork of the parent may hold the pipe open; a new parent means that ours is gone.
    while os.name != "posix" or os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(0)


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
