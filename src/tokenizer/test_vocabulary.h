// For tests: vocabularies and cases from tests/data/tokenizer, and tiny ones made by hand.
// Thread-safety: pure.
// Formats: tools/make_vocab_fixture.py describes *.vocab; a case file is tab-separated with a
// heading line: id, tokenizer, with_special, text as a JSON string, ids. Errors: a malformed file
// throws (tests only).
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tokenizer/byte_letters.h"
#include "tokenizer/tokenizer.h"

namespace qualia::tokenizer {

inline const std::string kTokenizerData = "tests/data/tokenizer/";

struct TokenizerCase {
  std::string id;
  std::string tokenizer;
  AddSpecial add_special = AddSpecial::no;
  std::string text;
  std::vector<TokenId> ids;
};

inline std::ifstream open_test_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return file;
}

inline std::vector<TokenizerCase> read_cases(const std::string& path) {
  std::ifstream file = open_test_file(path);
  std::vector<TokenizerCase> cases;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t') {
        fields.emplace_back();
      } else {
        fields.back().push_back(c);
      }
    }
    TokenizerCase next{fields.at(0),
                       fields.at(1),
                       fields.at(2) == "1" ? AddSpecial::yes : AddSpecial::no,
                       nlohmann::json::parse(fields.at(3)).get<std::string>(),
                       {}};
    std::istringstream ids(fields.at(4));
    for (TokenId id = 0; ids >> id;) next.ids.push_back(id);
    cases.push_back(std::move(next));
  }
  return cases;
}

inline std::string unescape_piece(const std::string& escaped) {
  std::string piece;
  for (size_t i = 0; i < escaped.size(); ++i) {
    const char c = escaped[i];
    if (c != '\\') {
      piece.push_back(c);
      continue;
    }
    const char kind = escaped.at(++i);
    piece.push_back(kind == 't' ? '\t' : kind == 'n' ? '\n' : kind == 's' ? ' ' : '\\');
  }
  return piece;
}

inline void read_vocabulary_header(std::istream& file, Vocabulary& vocabulary) {
  for (std::string key; file >> key && key != "tokens";) {
    std::string value;
    file >> value;
    if (key == "pre") {
      vocabulary.pre = value;
    } else if (key == "size") {
      vocabulary.tokens.resize(std::stoul(value));
      vocabulary.types.resize(vocabulary.tokens.size(), TokenType::unused);
    } else if (key == "add_bos") {
      vocabulary.add_bos = value == "1";
    } else if (key == "add_eos") {
      vocabulary.add_eos = value == "1";
    } else {
      std::optional<TokenId>& id = key == "bos"       ? vocabulary.bos
                                   : key == "eos"     ? vocabulary.eos
                                   : key == "eot"     ? vocabulary.eot
                                   : key == "unknown" ? vocabulary.unknown
                                                      : vocabulary.padding;
      id = std::stoi(value);
    }
  }
}

inline Vocabulary read_vocabulary(const std::string& path) {
  std::ifstream file = open_test_file(path);
  Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  read_vocabulary_header(file, vocabulary);
  for (std::string word; file >> word && word != "merges";) {
    const size_t id = std::stoul(word);
    int type = 0;
    file >> type >> word;
    vocabulary.types.at(id) = static_cast<TokenType>(type);
    vocabulary.tokens.at(id) = unescape_piece(word);
  }
  for (size_t left = 0, right = 0; file >> left >> right;) {
    vocabulary.merges.push_back(vocabulary.tokens.at(left) + " " + vocabulary.tokens.at(right));
  }
  return vocabulary;
}

// The 256 byte letters as ids 0 to 255 (id = byte), no merges, pre-tokenizer "gpt-2".
inline Vocabulary byte_vocabulary() {
  Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(letters_of_bytes(std::string(1, static_cast<char>(byte))));
    vocabulary.types.push_back(TokenType::normal);
  }
  return vocabulary;
}

inline TokenId add_token(Vocabulary& vocabulary, std::string piece, TokenType type) {
  vocabulary.tokens.push_back(std::move(piece));
  vocabulary.types.push_back(type);
  return static_cast<TokenId>(vocabulary.tokens.size() - 1);
}

// Adds the merge and its token; both pieces are given as bytes.
inline TokenId add_merge(Vocabulary& vocabulary, const std::string& left,
                         const std::string& right) {
  vocabulary.merges.push_back(letters_of_bytes(left) + " " + letters_of_bytes(right));
  return add_token(vocabulary, letters_of_bytes(left + right), TokenType::normal);
}

inline std::unique_ptr<const Tokenizer> create_or_throw(Vocabulary vocabulary) {
  Result<std::unique_ptr<const Tokenizer>> tokenizer = Tokenizer::create(std::move(vocabulary));
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::move(*tokenizer);
}

}  // namespace qualia::tokenizer
