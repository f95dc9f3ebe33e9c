#include "tokenizer/bpe_patterns.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"

namespace qualia::tokenizer {
namespace {

using Pattern = std::string_view;

// Parts that several patterns share. A macro, so that the compiler joins the literals.
#define QUALIA_CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define QUALIA_GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"
#define QUALIA_WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define QUALIA_SYMBOLS R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define QUALIA_BREAKS R"(\s*[\r\n]+)"
#define QUALIA_SPACES R"(\s+(?!\S)|\s+)"
#define QUALIA_SYMBOLS_AND_SPACES QUALIA_SYMBOLS "|" QUALIA_BREAKS "|" QUALIA_SPACES
// Words that may begin with capitals and go on in small letters, or are capitals throughout.
#define QUALIA_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define QUALIA_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define QUALIA_SMALL_WORD R"([^\r\n\p{L}\p{N}]?)" QUALIA_UPPER "*" QUALIA_LOWER "+"
#define QUALIA_LARGE_WORD R"([^\r\n\p{L}\p{N}]?)" QUALIA_UPPER "+" QUALIA_LOWER "*"
#define QUALIA_SYMBOLS_SLASH R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)"
#define QUALIA_PUNCTUATED_WORDS                         \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)" \
  R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)"
// Cased letters as the deepseek-llm tokenizer lists them, which is not \p{L&}: it stops at an older
// Unicode and leaves out whole blocks.
#define QUALIA_DEEPSEEK_LETTERS                                                              \
  R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"    \
  R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"             \
  R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"    \
  R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"   \
  R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})" \
  R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B})"  \
  R"(\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})"  \
  R"(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})" \
  R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"   \
  R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"           \
  R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"           \
  R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"  \
  R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})" \
  R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3})"              \
  R"(\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"          \
  R"(\x{1E900}-\x{1E943})"

constexpr Pattern kIdeographs = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr Pattern kIdeographsAndKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr Pattern kBreak = R"([\r\n])";
constexpr Pattern kDigit = R"(\p{N})";
constexpr Pattern kDigits = R"(\p{N}+)";
constexpr Pattern kThreeDigits = "[0-9][0-9][0-9]";
constexpr Pattern kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr Pattern kGpt2 = QUALIA_GPT2;
constexpr Pattern kClauses =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";

constexpr std::array kPatternsGpt2 = {kGpt2};
constexpr std::array kPatternsDigitGpt2 = {kDigit, kGpt2};
constexpr std::array kPatternsDefault = {Pattern(R"([\p{P}\$\+<=>\^~\|]+)"), kGpt2, kDigits,
                                         kThreeDigits};
constexpr std::array kPatternsFalcon = {Pattern(R"([\p{P}\$\+<=>\^~\|`]+)"), kGpt2, kThreeDigits};
constexpr std::array kPatternsLlama3 = {
    Pattern(QUALIA_CONTRACTION "|" QUALIA_WORD R"(|\p{N}{1,3}|)" QUALIA_SYMBOLS_AND_SPACES)};
constexpr std::array kPatternsJais2 = {
    Pattern(QUALIA_CONTRACTION
            "|" QUALIA_WORD R"(|\p{N}{1,3}|)" QUALIA_SYMBOLS "|" QUALIA_BREAKS
            R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S))"
            R"(|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})")};
constexpr std::array kPatternsQwen2 = {
    Pattern(QUALIA_CONTRACTION "|" QUALIA_WORD R"(|\p{N}|)" QUALIA_SYMBOLS_AND_SPACES)};
constexpr std::array kPatternsQwen35 = {Pattern(
    QUALIA_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                       R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" QUALIA_BREAKS "|" QUALIA_SPACES)};
constexpr std::array kPatternsBailing = {Pattern(R"('(?i:[sdmt]|ll|ve|re)|)" QUALIA_WORD
                                                 R"(|\p{N}|)" QUALIA_SYMBOLS
                                                 R"(|\s*[\r\n]|)" QUALIA_SPACES)};
constexpr std::array kPatternsSeedCoder = {
    Pattern(QUALIA_CONTRACTION "|" QUALIA_WORD R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" QUALIA_BREAKS
                               "|" QUALIA_SPACES)};
constexpr std::array kPatternsMinicpm5 = {
    kUpToThreeDigits,
    Pattern(QUALIA_CONTRACTION "|" QUALIA_WORD R"(|\p{N}+|)" QUALIA_SYMBOLS_AND_SPACES)};
constexpr std::array kPatternsDeepseekLlm = {
    kBreak,
    Pattern(R"(\s?[)" QUALIA_DEEPSEEK_LETTERS "]+"),
    Pattern(R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"),
    Pattern(R"((?<!\s)\s+$)"),
    kIdeographs,
    kDigits};
constexpr std::array kPatternsDeepseekCoder = {kBreak, Pattern(R"(\s?\p{L}+)"),
                                               Pattern(R"(\s?\p{P}+)"), kIdeographs, kDigit};
constexpr std::array kPatternsDeepseek3 = {
    kUpToThreeDigits, kIdeographsAndKana,
    Pattern(QUALIA_PUNCTUATED_WORDS R"([\r\n]*|)" QUALIA_BREAKS "|" QUALIA_SPACES)};
constexpr std::array kPatternsClauses = {kClauses};
constexpr std::array kPatternsViking = {kClauses, kDigit};
constexpr std::array kPatternsTekken = {
    Pattern(QUALIA_SMALL_WORD "|" QUALIA_LARGE_WORD R"(|\p{N}|)" QUALIA_SYMBOLS_SLASH
                              "|" QUALIA_BREAKS "|" QUALIA_SPACES)};
constexpr std::array kPatternsGpt4o = {Pattern(QUALIA_SMALL_WORD QUALIA_CONTRACTION
                                               "?|" QUALIA_LARGE_WORD QUALIA_CONTRACTION
                                               R"(?|\p{N}{1,3}|)" QUALIA_SYMBOLS_SLASH
                                               "|" QUALIA_BREAKS "|" QUALIA_SPACES)};
constexpr std::array kPatternsChameleon = {
    Pattern("<sentinel:[0-9]+>"),       Pattern("IMGIMG[A-I]{1,4}Z"),
    Pattern(R"([\t\n]|    |  )"),       kDigit,
    Pattern(R"([\p{P}!-/:-@\[-`{-~])"), kGpt2};

// One line per name: patterns, ignore_merges, add_bos.
constexpr std::array kProfiles = {
    BpeProfile{"default", kPatternsDefault},
    BpeProfile{"gpt-2", kPatternsGpt2},
    BpeProfile{"phi-2", kPatternsGpt2},
    BpeProfile{"mpt", kPatternsGpt2},
    BpeProfile{"olmo", kPatternsGpt2},
    BpeProfile{"jais", kPatternsGpt2},
    BpeProfile{"gigachat", kPatternsGpt2},
    BpeProfile{"trillion", kPatternsGpt2},
    BpeProfile{"granite-docling", kPatternsGpt2},
    BpeProfile{"exaone4", kPatternsGpt2},
    BpeProfile{"a.x-4.0", kPatternsGpt2},
    BpeProfile{"mellum", kPatternsGpt2},
    BpeProfile{"modern-bert", kPatternsGpt2},
    BpeProfile{"roberta-bpe", kPatternsGpt2},
    BpeProfile{"jina-es", kPatternsGpt2},
    BpeProfile{"jina-de", kPatternsGpt2},
    BpeProfile{"jina-v1-en", kPatternsGpt2},
    BpeProfile{"jina-v2-es", kPatternsGpt2},
    BpeProfile{"jina-v2-de", kPatternsGpt2},
    BpeProfile{"jina-v2-code", kPatternsGpt2},
    BpeProfile{"smollm", kPatternsDigitGpt2},
    BpeProfile{"starcoder", kPatternsDigitGpt2},
    BpeProfile{"refact", kPatternsDigitGpt2},
    BpeProfile{"command-r", kPatternsDigitGpt2},
    BpeProfile{"codeshell", kPatternsDigitGpt2},
    BpeProfile{"exaone", kPatternsDigitGpt2},
    BpeProfile{"minerva-7b", kPatternsDigitGpt2},
    BpeProfile{"mellum2", kPatternsDigitGpt2},
    BpeProfile{"falcon", kPatternsFalcon},
    BpeProfile{"llama-bpe", kPatternsLlama3, true, true},
    BpeProfile{"llama3", kPatternsLlama3, true, true},
    BpeProfile{"llama-v3", kPatternsLlama3, true, true},
    BpeProfile{"falcon3", kPatternsLlama3, true, true},
    BpeProfile{"falcon-h1", kPatternsLlama3, true, true},
    BpeProfile{"pixtral", kPatternsLlama3, true, true},
    BpeProfile{"midm-2.0", kPatternsLlama3, true, true},
    BpeProfile{"lfm2", kPatternsLlama3, true, true},
    BpeProfile{"jina-v5-nano", kPatternsLlama3, true, true},
    BpeProfile{"dbrx", kPatternsLlama3},
    BpeProfile{"smaug-bpe", kPatternsLlama3},
    BpeProfile{"chatglm-bpe", kPatternsLlama3},
    BpeProfile{"glm4", kPatternsLlama3},
    BpeProfile{"jais-2", kPatternsJais2},
    BpeProfile{"qwen2", kPatternsQwen2},
    BpeProfile{"deepseek-r1-qwen", kPatternsQwen2},
    BpeProfile{"stablelm2", kPatternsQwen2},
    BpeProfile{"hunyuan", kPatternsQwen2},
    BpeProfile{"solar-open", kPatternsQwen2},
    BpeProfile{"megrez", kPatternsQwen2},
    BpeProfile{"kormo", kPatternsQwen2},
    BpeProfile{"f2llmv2", kPatternsQwen2},
    BpeProfile{"grok-2", kPatternsQwen2},
    BpeProfile{"qwen35", kPatternsQwen35},
    BpeProfile{"bailingmoe", kPatternsBailing},
    BpeProfile{"bailingmoe2", kPatternsBailing},
    BpeProfile{"llada-moe", kPatternsBailing},
    BpeProfile{"seed-coder", kPatternsSeedCoder},
    BpeProfile{"minicpm5", kPatternsMinicpm5, true},
    BpeProfile{"deepseek-llm", kPatternsDeepseekLlm},
    BpeProfile{"deepseek-coder", kPatternsDeepseekCoder},
    BpeProfile{"deepseek-v3", kPatternsDeepseek3},
    BpeProfile{"hunyuan-dense", kPatternsDeepseek3},
    BpeProfile{"joyai-llm", kPatternsDeepseek3},
    BpeProfile{"bloom", kPatternsClauses},
    BpeProfile{"poro-chat", kPatternsClauses},
    BpeProfile{"gpt3-finnish", kPatternsClauses},
    BpeProfile{"viking", kPatternsViking},
    BpeProfile{"tekken", kPatternsTekken, true, true},
    BpeProfile{"gpt-4o", kPatternsGpt4o},
    BpeProfile{"llama4", kPatternsGpt4o},
    BpeProfile{"kanana2", kPatternsGpt4o},
    BpeProfile{"talkie", kPatternsGpt4o},
    BpeProfile{"minimax-m2", kPatternsGpt4o},
    BpeProfile{"chameleon", kPatternsChameleon, false, true},
};

}  // namespace

std::span<const BpeProfile> bpe_profiles() { return kProfiles; }

Result<BpeProfile> find_bpe_profile(std::string_view pre) {
  if (pre.empty()) {
    log(LogLevel::warn, "Vocabulary names no pre-tokenizer (tokenizer.ggml.pre): 'gpt-2' is used.");
    pre = "gpt-2";
  }
  const auto* const found = std::find_if(kProfiles.begin(), kProfiles.end(),
                                         [&](const BpeProfile& p) { return p.name == pre; });
  if (found == kProfiles.end()) {
    return unsupported("Pre-tokenizer '{}' is unknown to this build ({} are known).", pre,
                       kProfiles.size());
  }
  return *found;
}

}  // namespace qualia::tokenizer
