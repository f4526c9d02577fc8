#include "models/clip/clip_config.h"

#include <algorithm>

#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr std::string_view kTextModel = "text_model.";
constexpr std::string_view kFinalNorm = "final_layer_norm.weight";
constexpr std::string_view kProjection = "text_projection.weight";
// Far beyond any text encoder (CLIP-G has 32); keeps a made-up file from making the walk long.
constexpr int kMaxLayers = 1024;

bool contains(std::span<const std::string> names, const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); }

}  // namespace

std::string clip_key_prefix(const ClipKind& kind) { return std::string(kind.name) + ".transformer."; }

std::map<std::string, std::string> map_clip_keys(const ClipKind& kind, std::span<const std::string> names) {
  std::map<std::string, std::string> keys;
  for (const std::string_view prefix : kind.file_prefixes) {
    if (!contains(names, std::string(prefix) + std::string(kFinalNorm))) continue;
    const std::string root = clip_key_prefix(kind);
    for (const std::string& name : names) {
      if (name.starts_with(prefix)) keys.emplace(root + std::string(kTextModel) + name.substr(prefix.size()), name);
    }
    // The projection lies beside the text model.
    const std::string_view beside = prefix.ends_with(kTextModel) ? prefix.substr(0, prefix.size() - kTextModel.size()) : prefix;
    const std::string projection = std::string(beside) + std::string(kProjection);
    if (contains(names, projection)) keys.emplace(root + std::string(kProjection), projection);
    break;
  }
  return keys;
}

ClipConfig infer_clip_config(const ClipKind& kind, const WeightMap& weights, std::string_view source) {
  const ShapeReader model(weights, clip_key_prefix(kind), std::string(source));
  ClipConfig config;
  config.kind = kind;
  config.vocabulary = model.extent("text_model.embeddings.token_embedding.weight", 2, 0);
  config.width = model.extent("text_model.embeddings.token_embedding.weight", 2, 1);
  config.positions = model.extent("text_model.embeddings.position_embedding.weight", 2, 0);
  const auto layer = [](int index) { return "text_model.encoder.layers." + std::to_string(index); };
  while (config.layers < kMaxLayers && model.has(layer(config.layers) + ".layer_norm1.weight")) ++config.layers;
  config.feed_forward = model.extent(layer(0) + ".mlp.fc1.weight", 2, 0);
  config.heads = static_cast<int>(std::max<int64_t>(1, config.width / kind.head_dim));
  if (config.width % config.heads != 0) {
    throw Error(ErrorCode::corrupt, "clip: width does not divide into heads",
                {{"file", std::string(source)}, {"width", std::to_string(config.width)}, {"heads", std::to_string(config.heads)}});
  }
  if (config.positions < kind.chunk_length) {
    throw Error(ErrorCode::corrupt, "clip: fewer positions than a chunk has tokens",
                {{"file", std::string(source)}, {"positions", std::to_string(config.positions)}, {"tokens", std::to_string(kind.chunk_length)}});
  }
  config.text_projection = model.has(kProjection);
  return config;
}

}  // namespace veneer::models
