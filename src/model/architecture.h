// Architectures: GGUF metadata and tensors -> decoder spec + weight map. One file each; the table
// in architecture.cpp lists them. Thread-safety: pure. Errors: unsupported names the architecture
// or the feature; corrupt_file names the key or tensor.
#pragma once

#include <string_view>

#include "gguf/gguf_file.h"
#include "ops/decoder_spec.h"
#include "ops/weights.h"
#include "qualia/result.h"

namespace qualia::model {

struct Decoder {
  ops::DecoderSpec spec;
  ops::WeightMap weights;  // every weight the spec needs, each of the shape it needs
};

Result<Decoder> read_decoder(const gguf::File& file);

// llama.cpp (the file): Llama 1-3, Mistral, TinyLlama, SmolLM2 and their relatives.
Result<Decoder> read_llama(const gguf::File& file, std::string_view architecture);

}  // namespace qualia::model
