#include "model/architecture.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/error.h"

namespace qualia::model {
namespace {

using Reader = Result<Decoder> (*)(const gguf::File&, std::string_view);

struct Architecture {
  std::string_view name;
  Reader read;
};

constexpr std::array kArchitectures{
    Architecture{"llama", read_llama},
};

std::string known_names() {
  std::string names;
  for (const Architecture& known : kArchitectures) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

}  // namespace

Result<Decoder> read_decoder(const gguf::File& file) {
  QUALIA_ASSIGN(const std::optional<std::string_view> name,
                file.get_string("general.architecture"));
  if (!name) return corrupt_file("Metadata 'general.architecture' is missing.");
  const auto known = std::ranges::find(kArchitectures, *name, &Architecture::name);
  if (known == kArchitectures.end())
    return unsupported("Architecture '{}' is unknown to this build (known: {}).", *name,
                       known_names());
  if (file.tensors().empty())
    return unsupported("The file holds a vocabulary but no weights, so it can't be run.");
  return known->read(file, *name);
}

}  // namespace qualia::model
