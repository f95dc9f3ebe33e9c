#!/usr/bin/env python3
"""Mean negative log-likelihood of each perplexity window, by the numpy forward pass in float64.

    python3 -m pip install gguf==0.19.0 numpy
    cd tests/data/golden
    python3 ../../../tools/golden_windows.py MODEL.gguf smollm2-135m-instruct-q4_1.json \
        >smollm2-135m-instruct-q4_1-windows.json

A llama-architecture model and a golden file with a case of kind "perplexity": its tokens are cut
into windows, a partial last one is dropped, and every position but a window's first is scored. The
weights are what gguf.quants.dequantize gives.
"""
import json
import sys
import types

import gguf
import make_tiny_model
import numpy as np


def read_model(path):
    reader = gguf.GGUFReader(path)

    def field(key):
        return reader.fields["llama." + key].contents()

    heads = field("attention.head_count")
    spec = types.SimpleNamespace(
        layers=field("block_count"), width=field("embedding_length"), heads=heads,
        kv_heads=field("attention.head_count_kv"), head_size=field("embedding_length") // heads,
        feed_forward=field("feed_forward_length"), rope_base=field("rope.freq_base"),
        epsilon=field("attention.layer_norm_rms_epsilon"))
    tensors = {t.name: (None, None, gguf.quants.dequantize(t.data, t.tensor_type))
               for t in reader.tensors}
    return spec, tensors


def main():
    spec, tensors = read_model(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        case = next(c for c in json.load(file)["cases"] if c["kind"] == "perplexity")
    size = case["window"]
    windows = []
    for begin in range(0, len(case["tokens"]) - size + 1, size):
        tokens = case["tokens"][begin:begin + size]
        logits = make_tiny_model.forward(spec, tensors, tokens)
        top = logits.max(-1, keepdims=True)
        log_sums = np.log(np.exp(logits - top).sum(-1)) + top[:, 0]
        scores = log_sums[:-1] - logits[np.arange(size - 1), tokens[1:]]
        windows.append(round(float(scores.mean()), 9))
        print(f"window {len(windows)}: {windows[-1]}", file=sys.stderr)
    document = {"window": size, "window_nll": windows, "mean_nll": sum(windows) / len(windows)}
    print(json.dumps(document, indent=1))


main()
