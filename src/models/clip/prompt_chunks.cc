#include "models/clip/prompt_chunks.h"

#include <algorithm>
#include <string>

#include "veneer/error.h"

namespace veneer::models {
namespace {

void close(std::vector<PromptToken>& chunk, const ClipKind& kind) {
  chunk.push_back({.id = kind.end_token});
  chunk.resize(static_cast<size_t>(kind.chunk_length), PromptToken{.id = kind.pad_token});
}

}  // namespace

void check_chunk_rules(const ClipKind& kind) {
  if (kind.chunk_length - 2 < std::max(1, kind.max_word_length - 1)) {
    throw Error(ErrorCode::invalid, "clip: a chunk cannot hold a word",
                {{"chunk length", std::to_string(kind.chunk_length)}, {"max word length", std::to_string(kind.max_word_length)}});
  }
}

std::vector<std::vector<PromptToken>> fill_chunks(const std::vector<std::vector<PromptToken>>& groups, const ClipKind& kind) {
  check_chunk_rules(kind);
  const size_t capacity = static_cast<size_t>(kind.chunk_length) - 1;  // the end token's place is kept
  const PromptToken start{.id = kind.start_token};
  std::vector<std::vector<PromptToken>> chunks = {{start}};
  int32_t word_id = 0;
  for (const std::vector<PromptToken>& group : groups) {
    ++word_id;
    const bool may_split = group.size() >= static_cast<size_t>(std::max(kind.max_word_length, 0));
    size_t taken = 0;
    while (taken < group.size()) {
      std::vector<PromptToken>& chunk = chunks.back();
      const size_t space = capacity - chunk.size();
      const size_t left = group.size() - taken;
      const size_t count = left <= space ? left : (may_split ? space : 0);
      for (size_t i = 0; i < count; ++i) {
        chunk.push_back(group[taken + i]);
        chunk.back().word_id = word_id;
      }
      taken += count;
      if (left > space) {
        close(chunk, kind);
        chunks.push_back({start});
      }
    }
  }
  close(chunks.back(), kind);
  return chunks;
}

std::vector<PromptToken> empty_chunk(const ClipKind& kind) { return fill_chunks({}, kind).front(); }

}  // namespace veneer::models
