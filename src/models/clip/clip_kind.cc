#include "models/clip/clip_kind.h"

#include <array>

namespace veneer::models {
namespace {

constexpr std::array<std::string_view, 8> kClipLPrefixes = {
    "cond_stage_model.transformer.text_model.",         // checkpoints of Stable Diffusion 1.x
    "cond_stage_model.clip_l.transformer.text_model.",  // checkpoints of several encoders
    "text_encoders.clip_l.transformer.text_model.",     // checkpoints saved by ComfyUI
    "clip_l.transformer.text_model.",
    "transformer.text_model.",
    "text_model.",                    // the encoder alone, as transformers saves it
    "cond_stage_model.transformer.",  // checkpoints made with transformers before version 3
    "text_encoder.text_model.",
};

constexpr ClipKind kSd1ClipL{.name = "clip_l", .file_prefixes = kClipLPrefixes, .default_layer = std::nullopt};

}  // namespace

const ClipKind& sd1_clip_l() { return kSd1ClipL; }

}  // namespace veneer::models
