"""Packages, how they were built, and whether anything could reach the network."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterator

from srlite.descriptor.offline import VARIABLES, stay_offline
from srlite.doctor.findings import Finding
from srlite.judge.build import offloads_to_card

PACKAGES = (
    "torch",
    "torchvision",
    "transformers",
    "peft",
    "bitsandbytes",
    "llama-cpp-python",
    "decord",
    "av",
    "huggingface-hub",
    "unsloth",
)
_OPTIONAL = {"decord": "PyAV reads everything", "unsloth": "the default backend needs none of it"}
_ANY_BUILD = "pip install --force-reinstall --no-binary llama-cpp-python llama-cpp-python (it needs a C++ compiler)"
_CUDA_BUILD = 'CMAKE_ARGS="-DGGML_CUDA=on" pip install --force-reinstall --no-binary llama-cpp-python llama-cpp-python'


def versions() -> dict[str, str | None]:
    """By package; None where it is not installed."""
    return {name: _version(name) for name in PACKAGES}


def look_at_software(*, on_card: bool) -> Iterator[Finding]:
    yield Finding("system", "ok", f"{platform.platform()}, Python {platform.python_version()}")
    found = versions()
    there = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    yield Finding("packages", "ok", there)
    for name in (n for n, version in found.items() if version is None):
        level = "note" if name in _OPTIONAL else "fault"
        yield Finding(name, level, f"not installed{_aside(name)}", None if level == "note" else f"pip install {name}")
    yield from _llama_cpp(on_card)
    yield _offline()


def _aside(name: str) -> str:
    return f": {_OPTIONAL[name]}" if name in _OPTIONAL else ""


def _llama_cpp(on_card: bool) -> Iterator[Finding]:
    offloads, said = offloads_to_card()
    if offloads is None:
        words = f"llama.cpp cannot be loaded: {said}"
        yield Finding(
            "llama.cpp",
            "fault",
            words,
            "pip install --force-reinstall --no-binary :all: llama-cpp-python (a compiler is needed)",
        )
    elif on_card and not offloads:
        words = "llama.cpp was built for the CPU: the judge does not use the card, and judging takes many times as long"
        yield Finding("llama.cpp", "fault", words, _CUDA_BUILD)
    else:
        yield Finding("llama.cpp", "ok", "built for CUDA" if offloads else "built for the CPU")


def _offline() -> Finding:
    stay_offline()
    words = f"nothing reaches the network but `srlite models pull` ({', '.join(VARIABLES)} are set)"
    kernels = sys.modules.get("kernels") is None
    return Finding("network", "ok" if kernels else "note", words)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
