"""How the installed llama.cpp was built. Asked in a process of its own: loading native code can end one."""

from __future__ import annotations

import subprocess
import sys

_ASK = "import llama_cpp; print(bool(llama_cpp.llama_supports_gpu_offload()))"
_LIMIT_S = 60.0


def offloads_to_card() -> tuple[bool | None, str]:
    """Whether it can use a card, or None where it cannot be loaded, with what was said."""
    command = [sys.executable, "-P", "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_LIMIT_S:.0f} seconds"
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
    return done.stdout.strip() == "True", ""
