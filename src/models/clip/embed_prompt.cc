#include "models/clip/embed_prompt.h"

#include <algorithm>

#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

void check_places(const PromptChunk& chunk, std::span<const PromptEmbedding> embeddings, size_t length) {
  if (chunk.size() != length) {
    throw Error(ErrorCode::invalid, "clip: chunk has the wrong length", {{"want", std::to_string(length)}, {"got", std::to_string(chunk.size())}});
  }
  for (const PromptToken& place : chunk) {
    if (place.embedding < 0) continue;
    const auto index = static_cast<size_t>(place.embedding);
    if (index < embeddings.size() && place.row >= 0 && embeddings[index].vectors.rank() == 2 && place.row < embeddings[index].vectors.dim(0))
      continue;
    throw Error(ErrorCode::invalid, "clip: chunk names a vector that is not there",
                {{"embedding", std::to_string(place.embedding)}, {"row", std::to_string(place.row)}});
  }
}

}  // namespace

std::vector<PromptChunk> fit_chunks(const TokenizedPrompt& prompt, int64_t width, const ClipKind& kind, std::vector<std::string>& warnings) {
  if (prompt.chunks.empty()) throw Error(ErrorCode::invalid, "clip: prompt has no chunk");
  const auto length = static_cast<size_t>(kind.chunk_length);
  std::vector<PromptChunk> chunks = prompt.chunks;
  for (const PromptChunk& chunk : chunks) check_places(chunk, prompt.embeddings, length);
  for (size_t i = 0; i < prompt.embeddings.size(); ++i) {
    const Tensor& vectors = prompt.embeddings[i].vectors;
    if (vectors.rank() == 2 && vectors.dim(1) == width) continue;
    warnings.push_back("embedding:" + prompt.embeddings[i].name + " has vectors of shape " + vectors.shape().to_string() +
                       ", this text encoder takes a width of " + std::to_string(width) + ", ignoring");
    for (PromptChunk& chunk : chunks) {
      std::erase_if(chunk, [&](const PromptToken& place) { return place.embedding == static_cast<int32_t>(i); });
      chunk.resize(length, PromptToken{.id = kind.pad_token});
    }
  }
  return chunks;
}

void read_row(const Tensor& table, int64_t row, std::span<float> out) {
  if (row < 0 || row >= table.dim(0)) {
    throw Error(ErrorCode::invalid, "clip: no such row in the embedding table",
                {{"row", std::to_string(row)}, {"rows", std::to_string(table.dim(0))}});
  }
  copy_to_f32(table.slice(row, 1), out);
}

Tensor embed_chunks(std::span<const PromptChunk> chunks, std::span<const PromptEmbedding> embeddings, const Tensor& tokens, const Tensor& positions,
                    Allocator& allocator) {
  const int64_t length = chunks.empty() ? 0 : static_cast<int64_t>(chunks.front().size());
  const int64_t width = positions.dim(1);
  Tensor out = Tensor::empty(Shape({static_cast<int64_t>(chunks.size()), length, width}), DType::f32, allocator);
  std::vector<float> position(static_cast<size_t>(width));
  for (int64_t at = 0; at < length; ++at) {
    read_row(positions, at, position);
    for (size_t i = 0; i < chunks.size(); ++i) {
      const PromptToken& place = chunks[i][static_cast<size_t>(at)];
      const std::span<float> vector =
          out.mutable_floats().subspan((i * static_cast<size_t>(length) + static_cast<size_t>(at)) * position.size(), position.size());
      if (place.embedding < 0) {
        read_row(tokens, place.id, vector);
      } else {
        read_row(embeddings[static_cast<size_t>(place.embedding)].vectors, place.row, vector);
      }
      std::transform(vector.begin(), vector.end(), position.begin(), vector.begin(), [](float a, float b) { return a + b; });
    }
  }
  return out;
}

}  // namespace veneer::models
