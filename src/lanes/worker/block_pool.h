// The shared blocks of one worker: a step that asks for logits takes one until its output is read.
// Thread-safety: one owner.
#pragma once

#include <cstdint>
#include <vector>

#include "lanes/worker/shared_block.h"

namespace qualia::lanes::worker {

class BlockPool {
 public:
  struct Taken {
    uint32_t id = 0;
    bool is_new = false;  // the worker has yet to hear of it
  };
  // A free block of at least that size; a free one that is too small is replaced under its id.
  Result<Taken> take(uint64_t size_bytes);
  void give_back(uint32_t id) { entries_[id].is_free = true; }

  const SharedBlock& block(uint32_t id) const { return entries_[id].block; }

 private:
  struct Entry {
    SharedBlock block;
    bool is_free = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace qualia::lanes::worker
