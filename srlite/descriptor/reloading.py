"""The language model out of memory altogether, where main memory is too short for it to wait there (see parking.py).

Contract: inside `reloaded` the frozen weights are nowhere; what is learnt, and what is no weight, waits in main memory.
Afterwards the frozen weights are read from the model's folder as they were at first; parameters are the same objects, and the
numbers are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from srlite.descriptor.load import Descriptor
from srlite.descriptor.parking import parked, states_of

Load = Callable[[], nn.Module]


@contextmanager
def reloaded(descriptor: Descriptor, load: Load) -> Iterator[None]:
    """The frozen weights gone until the end; `load` reads the base model onto the descriptor's device."""
    frozen = _frozen(descriptor)
    for parameter in frozen.values():
        parameter.data = parameter.data.new_empty(0)
        for state, name in states_of(parameter):
            setattr(state, name, getattr(state, name).new_empty(0))
    try:
        with parked(descriptor):  # what is left
            yield
    finally:
        _take(frozen, dict(load().named_parameters(remove_duplicate=False)))


def _frozen(descriptor: Descriptor) -> dict[str, nn.Parameter]:
    """By the names that they have in the base model; a tied head is the embedding."""
    base = descriptor.model.get_base_model()
    return {
        name.replace(".base_layer.", "."): parameter
        for name, parameter in base.named_parameters()
        if not parameter.requires_grad and not name.startswith("model.visual.")
    }


def _take(frozen: dict[str, nn.Parameter], fresh: dict[str, nn.Parameter]) -> None:
    with torch.no_grad():
        for name, parameter in frozen.items():
            parameter.data = fresh[name].data
            for (state, part), (read, _) in zip(states_of(parameter), states_of(fresh[name]), strict=True):
                setattr(state, part, getattr(read, part))
