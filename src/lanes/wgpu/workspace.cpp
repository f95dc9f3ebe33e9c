#include "lanes/wgpu/workspace.h"

#include "base/error.h"

namespace qualia::lanes::wgpu {

Result<Forms> Forms::create(Device& device, uint32_t rows, uint32_t k, bool wants_int8,
                            bool wants_f32, uint32_t parts) {
  const uint64_t groups = (k + 31) / 32;
  const uint64_t int8_rows = wants_int8 ? uint64_t{rows} * parts : 0;
  Forms forms;
  forms.wants_int8 = wants_int8;
  forms.wants_f32 = wants_f32;
  forms.parts = parts;
  QUALIA_ASSIGN(forms.codes,
                device.create_buffer(int8_rows * groups * 32 + 16, BufferUse::storage));
  QUALIA_ASSIGN(forms.meta, device.create_buffer(int8_rows * groups * 16 + 16, BufferUse::storage));
  const uint64_t float_rows = wants_f32 ? rows : 0;
  QUALIA_ASSIGN(forms.floats,
                device.create_buffer(float_rows * groups * 128 + 16, BufferUse::storage));
  return forms;
}

Result<Workspace> Workspace::create(Device& device, const WorkspaceShape& shape) {
  const uint64_t slices = (shape.vocabulary + kArgmaxSlice - 1) / kArgmaxSlice;
  const uint64_t blocks = (shape.vocabulary + kTopKBlock - 1) / kTopKBlock;
  Workspace work;
  struct Wanted {
    Buffer* buffer;
    uint64_t words;
  };
  const Wanted all[] = {
      {&work.step, kStepWords},
      {&work.x, uint64_t{kRowsMax} * shape.width},
      {&work.qkv, uint64_t{kRowsMax} * shape.qkv_columns},
      {&work.queries, uint64_t{kRowsMax} * shape.query_floats},
      {&work.partials, uint64_t{kPartialsMax} * shape.query_floats},
      {&work.stats, uint64_t{kPartialsMax} * shape.heads * 2},
      {&work.hidden, uint64_t{kRowsMax} * shape.hidden_columns},
      {&work.logits, uint64_t{kOutputRowsMax} * shape.vocabulary},
      {&work.slices, kOutputRowsMax * slices * 4},
      {&work.best[0], kOutputRowsMax * blocks * kTopKMax * 2},
      {&work.best[1], kOutputRowsMax * blocks * kTopKMax * 2},
      {&work.results[0], uint64_t{kOutputsMax} * 4},
      {&work.results[1], uint64_t{kOutputsMax} * 4},
  };
  for (const Wanted& wanted : all) {
    QUALIA_ASSIGN(*wanted.buffer,
                  device.create_buffer(wanted.words * sizeof(uint32_t), BufferUse::storage));
  }
  return work;
}

}  // namespace qualia::lanes::wgpu
