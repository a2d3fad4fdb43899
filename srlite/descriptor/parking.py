"""The language model out of the card's way, while the judge has its turn.

Contract: inside `parked` the card holds nothing of the language model but the optimiser's moments, which stay where they are;
afterwards everything is where it was, and parameters are the same objects: an optimiser goes on with them. What waits lies in
pinned main memory, from which it comes back at the bus's full speed.
Left out: the vision tower, which waits in main memory anyway (features.tower_at_work).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from srlite.descriptor.load import Descriptor


def parked_bytes(descriptor: Descriptor) -> int:
    """What `parked` moves."""
    total = 0

    def count(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal total
        total += tensor.nbytes
        return tensor

    _each(descriptor, count)
    return total


@contextmanager
def parked(descriptor: Descriptor) -> Iterator[None]:
    """The language model in main memory, until the end."""
    _each(descriptor, _pinned)
    if descriptor.device.type == "cuda":
        torch.cuda.empty_cache()
    try:
        yield
    finally:
        _each(descriptor, lambda tensor: tensor.to(descriptor.device, non_blocking=True))


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(tensor, device="cpu", pin_memory=torch.cuda.is_available()).copy_(tensor)


def _each(descriptor: Descriptor, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Put change(tensor) in the place of every tensor of the language model and its head, each once."""
    seen: set[int] = set()
    for module in (descriptor.core.language_model, descriptor.head):
        for holder in module.modules():
            for name, buffer in holder.named_buffers(recurse=False):
                setattr(holder, name, change(buffer))
        for parameter in module.parameters():
            if id(parameter) not in seen:  # a tied head is the embedding
                seen.add(id(parameter))
                parameter.data = change(parameter.data)
                for state, name in states_of(parameter):
                    setattr(state, name, change(getattr(state, name)))


def states_of(parameter: torch.nn.Parameter) -> list[tuple[object, str]]:
    """Where the scales of a 4-bit weight lie, and the scales of those: (bitsandbytes' QuantState, name of the tensor)."""
    state, found = getattr(parameter, "quant_state", None), []
    while state is not None:
        tensors = ("absmax", "code", "offset")
        found += [(state, name) for name in tensors if isinstance(getattr(state, name, None), torch.Tensor)]
        state = state.state2
    return found
