// Prompts to chunks of weighted tokens, ready for the text encoder.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/clip/bpe.h"
#include "models/clip/clip_kind.h"
#include "models/clip/prompt_token.h"
#include "tensor/tensor.h"

namespace veneer::models {

// The vectors of a textual inversion, [n, width] or [width] in a floating dtype, or nullopt when there is none of that name. The name is the
// prompt's own text: whoever opens a file by it has to keep it inside of the embeddings' folder. May throw for a file that is damaged.
using EmbeddingSource = std::function<std::optional<Tensor>(std::string_view name)>;

// The names behind "embedding:" in a prompt, each once, as a tokenizer looks for them: one that `exists` does not know is looked for without the
// commas around it. A marker without a name gives "".
std::vector<std::string> embedding_names(std::string_view prompt, const std::function<bool(std::string_view name)>& exists);

struct PromptEmbedding {
  std::string name;
  Tensor vectors;  // [n, width]
};

struct TokenizedPrompt {
  // At least one; each of ClipKind::chunk_length tokens.
  std::vector<std::vector<PromptToken>> chunks;
  // Each once, however often the prompt names it.
  std::vector<PromptEmbedding> embeddings;
  // Named embeddings that do not exist; they are left out.
  std::vector<std::string> warnings;
};

// Immutable; may be used from several threads at once as far as the embedding source may.
class PromptTokenizer {
 public:
  // `kind` has to outlive the tokenizer. Throws Error(invalid) for a kind whose chunks cannot hold a word.
  PromptTokenizer(const ClipKind& kind, std::shared_ptr<const BpeVocabulary> vocabulary);

  // Parses emphasis (prompt_weights.h), replaces "embedding:NAME" at the start of a segment or behind a blank or line end by its vectors, and fills
  // chunks: groups (a weighted segment between emphasis and embeddings) of fewer than max_word_length tokens stay whole. Without a source,
  // "embedding:NAME" is text. Throws Error(invalid) for more than kMaxTokens tokens and for an embedding that is no list of vectors.
  TokenizedPrompt tokenize(std::string_view prompt, const EmbeddingSource& embeddings) const;

  static constexpr size_t kMaxTokens = 1U << 18;

 private:
  const ClipKind& kind_;
  BpeTokenizer bpe_;
};

}  // namespace veneer::models
