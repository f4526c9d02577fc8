// A CLIP text encoder's measures, read off the shapes of its weights.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "models/architecture.h"
#include "models/clip/clip_kind.h"

namespace veneer::models {

struct ClipConfig {
  ClipKind kind;
  int64_t vocabulary = 0;  // rows of the token table
  int64_t positions = 0;
  int64_t width = 0;
  int layers = 0;
  int heads = 0;
  int64_t feed_forward = 0;
  bool text_projection = false;  // whether the file has one
};

// What keys of `kind` begin with, as patches name them: "clip_l.transformer."
std::string clip_key_prefix(const ClipKind& kind);

// Weight key as patches name it -> tensor name in the file, for the tensors of `names` that belong to a text encoder of `kind`. The first of
// kind.file_prefixes under which the file has an encoder counts. Empty when there is none.
std::map<std::string, std::string> map_clip_keys(const ClipKind& kind, std::span<const std::string> names);

// `weights`: keys as patches name them. Throws Error(corrupt) naming `source` and the tensor that is absent or does not fit.
ClipConfig infer_clip_config(const ClipKind& kind, const WeightMap& weights, std::string_view source);

}  // namespace veneer::models
