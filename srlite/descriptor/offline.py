"""Keep the libraries of Hugging Face away from the network. Call before importing any of them.

Contract: the environment variables they read at import are set, and the `kernels` package, which bitsandbytes
asks for compiled code on some processors (a download), cannot be imported unless somebody imported it before.
Left out: sockets are not blocked here; `local_files_only` is passed where files are opened.
"""

from __future__ import annotations

import logging
import os
import sys

VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK")


def stay_offline() -> None:
    """Set the variables for this process and its children, and make `import kernels` fail."""
    for name in VARIABLES:
        os.environ[name] = "1"
    sys.modules.setdefault("kernels", None)  # type: ignore[arg-type]
    # bitsandbytes would advise to install the package that was kept out on purpose
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
