#include "models/clip/textual_inversion.h"

#include "veneer/error.h"

namespace veneer::models {

Tensor read_textual_inversion(const formats::ModelFile& file, const ClipKind& kind) {
  if (file.contains(kind.name)) return file.tensor(kind.name);
  // A trainer's .pt keeps the vectors beside the number of the word that it replaced.
  for (const auto& entry : file.entries()) {
    if (entry.name.starts_with("string_to_param.")) return file.tensor(entry.name);
  }
  if (file.entries().empty()) throw Error(ErrorCode::corrupt, "embedding: file has no tensor", {{"file", file.name()}});
  return file.tensor(file.entries().front().name);
}

}  // namespace veneer::models
