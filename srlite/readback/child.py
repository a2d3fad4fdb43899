"""The process that reads again: `python -m srlite.readback.child FOLDER`, its request in FOLDER, its answer beside it.

    request.json   model, adapter, tower (paths or null), texts, ids, threads
    picture.npy    (height, width, 3) uint8, when there is a tower
    answer.npz     tokens_0 ...  plain (T, V)  adapted (T, V)  features (N, hidden * levels)

Without `ids` only the vocabulary is loaded. llama.cpp repacks nothing here: its kernels for special instructions crash on
some processors. torch is never imported.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

import llama_cpp
import numpy as np
from llama_cpp import mtmd_cpp

_WARNING = 3  # ggml's log levels: 1 debug, 2 info, 3 warning, 4 error
_FLOAT32 = 0  # of ggml's number formats


@llama_cpp.llama_log_callback
def _log(level: int, text: bytes, _data: object) -> None:
    if level >= _WARNING:
        os.write(2, text)


def answer(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    model = _load(request["model"], vocabulary_only=not request["ids"])
    found = {f"tokens_{i}": _tokens(model, text) for i, text in enumerate(request["texts"])}
    if ids := request["ids"]:
        found["plain"] = _logits(model, ids, None, request["threads"])
    if ids and request["adapter"]:
        found["adapted"] = _logits(model, ids, request["adapter"], request["threads"])
    if request["tower"]:
        found["features"] = _features(model, request["tower"], np.load(folder / "picture.npy"), request["threads"])
    np.savez(folder / "answer.npz", **found)


def _load(path: str, *, vocabulary_only: bool) -> llama_cpp.llama_model_p:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = 0
    params.use_extra_bufts = False
    params.vocab_only = vocabulary_only
    model = llama_cpp.llama_model_load_from_file(path.encode(), params)
    if not model:
        sys.exit(f"llama.cpp could not load {Path(path).name}")
    return model


def _tokens(model: llama_cpp.llama_model_p, text: str) -> np.ndarray:
    data = text.encode("utf-8")
    room = (llama_cpp.llama_token * (len(data) + 8))()
    vocabulary = llama_cpp.llama_model_get_vocab(model)
    count = llama_cpp.llama_tokenize(vocabulary, data, len(data), room, len(room), False, False)
    return np.array(room[: max(count, 0)], dtype=np.int64)


def _logits(model: llama_cpp.llama_model_p, ids: list[int], adapter: str | None, threads: int) -> np.ndarray:
    """(T, V) after each token, with float32 keys and values and no flash attention, which adds up in 16 bits."""
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = params.n_batch = params.n_ubatch = max(64, len(ids))
    params.n_threads = params.n_threads_batch = threads
    params.type_k = params.type_v = _FLOAT32
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        sys.exit("llama.cpp could not make a context")
    if adapter:
        _put_on(model, context, adapter)
    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.logits[i] = token, i, True
        batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
    if (code := llama_cpp.llama_decode(context, batch)) != 0:
        sys.exit(f"llama.cpp could not evaluate {len(ids)} tokens (code {code})")
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    rows = (llama_cpp.llama_get_logits_ith(context, i) for i in range(len(ids)))
    logits_TV = np.stack([np.ctypeslib.as_array(row, shape=(size,)).copy() for row in rows])
    llama_cpp.llama_free(context)
    return logits_TV


def _put_on(model: llama_cpp.llama_model_p, context: llama_cpp.llama_context_p, path: str) -> None:
    adapter = llama_cpp.llama_adapter_lora_init(model, path.encode())
    if not adapter:
        sys.exit(f"llama.cpp could not load {Path(path).name}")
    one, full = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter), (ctypes.c_float * 1)(1.0)
    if llama_cpp.llama_set_adapters_lora(context, one, 1, full) != 0:
        sys.exit("llama.cpp could not put the adapter on the model")


def _features(model: llama_cpp.llama_model_p, path: str, picture: np.ndarray, threads: int) -> np.ndarray:
    """(N, hidden * levels): what the tower makes of one picture."""
    params = mtmd_cpp.mtmd_context_params_default()
    params.use_gpu, params.print_timings, params.warmup, params.n_threads = False, False, False, threads
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    context = mtmd_cpp.mtmd_init_from_file(path.encode(), model, params)
    if not context:
        sys.exit(f"llama.cpp could not load {Path(path).name}")
    chunk = _picture_chunk(context, picture)
    if (code := mtmd_cpp.mtmd_encode_chunk(context, chunk)) != 0:
        sys.exit(f"llama.cpp's tower could not see the picture (code {code})")
    shape = (mtmd_cpp.mtmd_input_chunk_get_n_tokens(chunk), llama_cpp.llama_model_n_embd_inp(model))
    return np.ctypeslib.as_array(mtmd_cpp.mtmd_get_output_embd(context), shape=shape).copy()


def _picture_chunk(context: mtmd_cpp.mtmd_context_p, picture: np.ndarray) -> mtmd_cpp.mtmd_input_chunk_p:
    height, width, _ = picture.shape
    pixels = (ctypes.c_uint8 * picture.size).from_buffer_copy(np.ascontiguousarray(picture))
    bitmap = mtmd_cpp.mtmd_bitmap_init(width, height, pixels)
    marker = mtmd_cpp.mtmd_default_marker()
    text = mtmd_cpp.mtmd_input_text(marker, len(marker), False, True)
    chunks = mtmd_cpp.mtmd_input_chunks_init()
    bitmaps = (mtmd_cpp.mtmd_bitmap_p_ctypes * 1)(bitmap)
    if mtmd_cpp.mtmd_tokenize(context, chunks, ctypes.byref(text), bitmaps, 1) != 0:
        sys.exit("llama.cpp could not take the picture apart")
    found = (mtmd_cpp.mtmd_input_chunks_get(chunks, i) for i in range(mtmd_cpp.mtmd_input_chunks_size(chunks)))
    return next(c for c in found if mtmd_cpp.mtmd_input_chunk_get_type(c) == mtmd_cpp.MTMD_INPUT_CHUNK_TYPE_IMAGE)


def main() -> None:
    llama_cpp.llama_log_set(_log, None)
    mtmd_cpp.mtmd_log_set(_log, None)
    llama_cpp.llama_backend_init()
    answer(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
