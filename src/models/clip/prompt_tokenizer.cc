#include "models/clip/prompt_tokenizer.h"

#include <algorithm>
#include <map>

#include "models/clip/prompt_chunks.h"
#include "models/clip/prompt_weights.h"
#include "models/clip/unicode.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr std::string_view kMarker = "embedding:";

// Cuts a segment before every "embedding:" that follows a blank or a line end; that one character is dropped.
std::vector<std::string_view> split_at_embeddings(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t at = text.find(kMarker, 1); at != std::string_view::npos; at = text.find(kMarker, at + kMarker.size())) {
    if (text[at - 1] != ' ' && text[at - 1] != '\n') continue;
    if (at - 1 > begin) parts.push_back(text.substr(begin, at - 1 - begin));
    begin = at;
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

// Python's str.strip(chars) for one ASCII character.
std::string_view strip(std::string_view text, char c) {
  while (text.starts_with(c)) text.remove_prefix(1);
  while (text.ends_with(c)) text.remove_suffix(1);
  return text;
}

// Text behind "embedding:": the name up to the first white space, and the other words joined by single blanks.
struct NameAndRest {
  std::string name, rest;
};

NameAndRest split_name(std::string_view text) {
  NameAndRest out;
  std::string* current = &out.name;
  bool between = false;
  for (const char32_t c : decode_utf8(text)) {
    if (is_python_space(c)) {
      between = !out.name.empty();
      continue;
    }
    if (between) {
      if (current == &out.rest) out.rest += ' ';
      current = &out.rest;
      between = false;
    }
    append_utf8(*current, c);
  }
  return out;
}

// What remains of a name like "style,,": as many characters are cut off the front as its stripped form has.
std::string behind_stripped(const std::string& name, std::string_view stripped) {
  const std::u32string characters = decode_utf8(name);
  return encode_utf8(std::u32string_view(characters).substr(decode_utf8(stripped).size()));
}

// Collects the groups of one prompt.
class GroupBuilder {
 public:
  GroupBuilder(const BpeTokenizer& bpe, const EmbeddingSource& source, TokenizedPrompt& prompt) : bpe_(bpe), source_(source), prompt_(prompt) {}

  void add_segment(const WeightedSegment& segment) {
    for (const std::string_view part : split_at_embeddings(segment.text)) {
      if (source_ && part.starts_with(kMarker)) {
        const std::string rest = add_embedding(strip(part.substr(kMarker.size()), '\n'), segment.weight);
        if (!rest.empty()) add_text(rest, segment.weight);
      } else {
        add_text(part, segment.weight);
      }
    }
  }

  std::vector<std::vector<PromptToken>> take() { return std::move(groups_); }

 private:
  void count(size_t tokens) {
    if (tokens > PromptTokenizer::kMaxTokens - num_tokens_) {
      throw Error(ErrorCode::invalid, "prompt: too many tokens", {{"limit", std::to_string(PromptTokenizer::kMaxTokens)}});
    }
    num_tokens_ += tokens;
  }

  void add_text(std::string_view text, double weight) {
    const std::vector<int32_t> ids = bpe_.encode(text);
    count(ids.size());
    std::vector<PromptToken>& group = groups_.emplace_back();
    group.reserve(ids.size());
    for (const int32_t id : ids) group.push_back({.id = id, .weight = weight});
  }

  // Returns the text that is left to tokenise.
  std::string add_embedding(std::string_view text, double weight) {
    auto [name, rest] = split_name(text);
    int32_t index = find(name);
    const std::string_view stripped = strip(name, ',');
    if (index < 0 && stripped.size() < name.size()) {
      index = find(stripped);
      rest = behind_stripped(name, stripped) + " " + rest;
    }
    if (index < 0) {
      prompt_.warnings.push_back("warning, embedding:" + std::string(text) + " does not exist, ignoring");
      return rest;
    }
    const int64_t rows = prompt_.embeddings[static_cast<size_t>(index)].vectors.dim(0);
    count(static_cast<size_t>(rows));
    std::vector<PromptToken>& group = groups_.emplace_back();
    for (int64_t row = 0; row < rows; ++row) group.push_back({.embedding = index, .row = static_cast<int32_t>(row), .weight = weight});
    return rest;
  }

  // Index of the named embedding in the prompt's list, or -1. Asks the source once per name.
  int32_t find(std::string_view name) {
    if (name.empty()) return -1;
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    int32_t& index = known_.emplace(name, -1).first->second;
    const std::optional<Tensor> vectors = source_(name);
    if (!vectors) return -1;
    const Shape& shape = vectors->shape();
    if ((shape.rank() != 1 && shape.rank() != 2) || !is_floating(vectors->dtype())) {
      throw Error(ErrorCode::invalid, "embedding: not a list of vectors",
                  {{"embedding", std::string(name)}, {"shape", shape.to_string()}, {"dtype", std::string(to_string(vectors->dtype()))}});
    }
    index = static_cast<int32_t>(prompt_.embeddings.size());
    prompt_.embeddings.push_back({std::string(name), shape.rank() == 2 ? *vectors : vectors->reshape(Shape({1, shape[0]}))});
    return index;
  }

  const BpeTokenizer& bpe_;
  const EmbeddingSource& source_;
  TokenizedPrompt& prompt_;
  std::vector<std::vector<PromptToken>> groups_;
  std::map<std::string, int32_t, std::less<>> known_;
  size_t num_tokens_ = 0;
};

}  // namespace

std::vector<std::string> embedding_names(std::string_view prompt, const std::function<bool(std::string_view name)>& exists) {
  std::vector<std::string> out;
  if (prompt.find(kMarker) == std::string_view::npos) return out;
  for (const WeightedSegment& segment : parse_prompt_weights(prompt)) {
    for (const std::string_view part : split_at_embeddings(segment.text)) {
      if (!part.starts_with(kMarker)) continue;
      std::string name = split_name(strip(part.substr(kMarker.size()), '\n')).name;
      if (!exists(name)) name = strip(name, ',');
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
    }
  }
  return out;
}

PromptTokenizer::PromptTokenizer(const ClipKind& kind, std::shared_ptr<const BpeVocabulary> vocabulary) : kind_(kind), bpe_(std::move(vocabulary)) {
  check_chunk_rules(kind);
}

TokenizedPrompt PromptTokenizer::tokenize(std::string_view prompt, const EmbeddingSource& embeddings) const {
  TokenizedPrompt out;
  GroupBuilder builder(bpe_, embeddings, out);
  for (const WeightedSegment& segment : parse_prompt_weights(prompt)) builder.add_segment(segment);
  out.chunks = fill_chunks(builder.take(), kind_);
  return out;
}

}  // namespace veneer::models
