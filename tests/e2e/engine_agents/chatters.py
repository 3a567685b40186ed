"""An agent with a thread that logs from the import on, also between runs."""

import logging
import sys
import threading


def _chatter() -> None:
    while True:
        logging.getLogger("chatter").warning("still here")


sys.setswitchinterval(1e-5)
threading.Thread(target=_chatter, daemon=True).start()


def agent() -> str:
    return "done"
