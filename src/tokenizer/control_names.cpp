#include "tokenizer/control_names.h"

#include <algorithm>
#include <array>

namespace qualia::tokenizer {
namespace {

enum class Role { structure, end_of_generation };

struct ControlName {
  std::string_view piece;
  Role role;
};

// The bars in DeepSeek's names are U+FF5C, the low line U+2581.
constexpr std::array kControlNames = {
    ControlName{"<|endoftext|>", Role::end_of_generation},
    ControlName{"<|im_end|>", Role::end_of_generation},
    ControlName{"<|eot_id|>", Role::end_of_generation},
    ControlName{"<|eom_id|>", Role::end_of_generation},
    ControlName{"<|eot|>", Role::end_of_generation},
    ControlName{"<|eom|>", Role::end_of_generation},
    ControlName{"<|end_of_text|>", Role::end_of_generation},
    ControlName{"<|end|>", Role::end_of_generation},
    ControlName{"<|return|>", Role::end_of_generation},
    ControlName{"<|call|>", Role::end_of_generation},
    ControlName{"<|calls|>", Role::end_of_generation},
    ControlName{"<|flush|>", Role::end_of_generation},
    ControlName{"<|EOT|>", Role::end_of_generation},
    ControlName{"<|END_OF_TURN_TOKEN|>", Role::end_of_generation},
    ControlName{"<end_of_turn>", Role::end_of_generation},
    ControlName{"<end_of_utterance>", Role::end_of_generation},
    ControlName{"<turn|>", Role::end_of_generation},
    ControlName{"</s>", Role::end_of_generation},
    ControlName{"<eos>", Role::end_of_generation},
    ControlName{"<EOT>", Role::end_of_generation},
    ControlName{"_<EOT>", Role::end_of_generation},
    ControlName{"[EOT]", Role::end_of_generation},
    ControlName{"[EOS]", Role::end_of_generation},
    ControlName{"[e~[", Role::end_of_generation},
    ControlName{"<\xEF\xBD\x9C"
                "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
                Role::end_of_generation},
    ControlName{"<|fim_pad|>", Role::end_of_generation},
    ControlName{"<|repo_name|>", Role::end_of_generation},
    ControlName{"<|file_sep|>", Role::end_of_generation},
    ControlName{"<|im_start|>", Role::structure},
    ControlName{"<|begin_of_text|>", Role::structure},
    ControlName{"<|start_header_id|>", Role::structure},
    ControlName{"<|end_header_id|>", Role::structure},
    ControlName{"<|header_start|>", Role::structure},
    ControlName{"<|header_end|>", Role::structure},
    ControlName{"<|START_OF_TURN_TOKEN|>", Role::structure},
    ControlName{"<start_of_turn>", Role::structure},
    ControlName{"<|system|>", Role::structure},
    ControlName{"<|user|>", Role::structure},
    ControlName{"<|assistant|>", Role::structure},
    ControlName{"<|User|>", Role::structure},
    ControlName{"<|Assistant|>", Role::structure},
    ControlName{"<\xEF\xBD\x9C"
                "begin\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
                Role::structure},
    ControlName{"<\xEF\xBD\x9C"
                "User\xEF\xBD\x9C>",
                Role::structure},
    ControlName{"<\xEF\xBD\x9C"
                "Assistant\xEF\xBD\x9C>",
                Role::structure},
};

const ControlName* find_name(std::string_view piece) {
  const auto* const found =
      std::find_if(kControlNames.begin(), kControlNames.end(),
                   [&](const ControlName& name) { return name.piece == piece; });
  return found == kControlNames.end() ? nullptr : found;
}

// Ordinary text such as "</s>" or "[EOS]" may well be a normal piece; "<|...|>" never is.
bool is_in_bars(std::string_view piece) {
  return piece.starts_with("<|") || piece.starts_with("<\xEF\xBD\x9C");
}

}  // namespace

bool acts_as_control(std::string_view piece, TokenType type) {
  if (type == TokenType::control || type == TokenType::unknown) return true;
  // Most pieces are told from a control name by their first byte alone.
  if (piece.empty() || (piece[0] != '<' && piece[0] != '[' && piece[0] != '_')) return false;
  if (find_name(piece) == nullptr) return false;
  return type == TokenType::user_defined || is_in_bars(piece);
}

bool names_end_of_generation(std::string_view piece) {
  const ControlName* name = find_name(piece);
  return name != nullptr && name->role == Role::end_of_generation;
}

}  // namespace qualia::tokenizer
