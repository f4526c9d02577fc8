// Files of textual inversions.
#pragma once

#include <string_view>

#include "formats/model_file.h"
#include "models/clip/clip_kind.h"

namespace veneer::models {

// The vectors that a file holds for an encoder, [n, width]: the tensor called kind.name where the file serves several encoders, else its first.
// Throws Error(corrupt) naming the file when it has no tensor.
Tensor read_textual_inversion(const formats::ModelFile& file, const ClipKind& kind);

}  // namespace veneer::models
