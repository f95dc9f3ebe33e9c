#!/usr/bin/env python3
"""Speed of llama.cpp through llama-cpp-python, by the shapes of `qualia bench` (for peers.py).

Prints one JSON object of tokens per second: {"pp": prompt of P tokens in batches of 512, "tg": N
tokens one by one after DEPTH others, "version"}. A test with 0 tokens is left out; each is warmed
up once.
"""

import ctypes
import json
import sys
import time

import llama_cpp as llama

BATCH = 512


@llama.llama_log_callback
def be_silent(_level, _text, _user_data):
    pass


class Engine:
    def __init__(self, path, context, threads):
        llama.llama_log_set(be_silent, ctypes.c_void_p(0))
        llama.llama_backend_init()
        model_params = llama.llama_model_default_params()
        model_params.n_gpu_layers = 0
        self.model = llama.llama_model_load_from_file(path.encode(), model_params)
        if not self.model:
            raise SystemExit(f"llama.cpp can't load {path}.")
        params = llama.llama_context_default_params()
        params.n_ctx = context
        params.n_batch = params.n_ubatch = BATCH
        params.n_threads = params.n_threads_batch = threads
        self.context = llama.llama_init_from_model(self.model, params)
        if not self.context:
            raise SystemExit(f"llama.cpp has no memory for {context} positions.")
        self.vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))

    def reset(self):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)

    def feed(self, count, first=0):
        """`count` arbitrary tokens in batches; waits until they are computed."""
        for begin in range(0, count, BATCH):
            places = range(first + begin, first + min(count, begin + BATCH))
            ids = [place * 7919 % self.vocabulary for place in places]
            tokens = (llama.llama_token * len(ids))(*ids)  # the batch points into it
            batch = llama.llama_batch_get_one(tokens, len(ids))
            if llama.llama_decode(self.context, batch) != 0:
                raise SystemExit("llama.cpp fails to decode.")
        llama.llama_synchronize(self.context)

    def prompt(self, count):
        self.reset()
        start = time.perf_counter()
        self.feed(count)
        return count / (time.perf_counter() - start)

    def reply(self, count, depth):
        self.reset()
        self.feed(depth)
        start = time.perf_counter()
        for i in range(count):
            self.feed(1, first=i)
        return count / (time.perf_counter() - start)


def main():
    path = sys.argv[1]
    prompt, reply, depth, threads = map(int, sys.argv[2:6])
    engine = Engine(path, max(prompt, depth + reply) + 64, threads)
    result = {"version": llama.__version__}
    engine.feed(64)
    if prompt:
        engine.prompt(prompt)
        result["pp"] = engine.prompt(prompt)
    if reply:
        engine.reply(min(reply, 8), 0)
        result["tg"] = engine.reply(reply, depth)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
