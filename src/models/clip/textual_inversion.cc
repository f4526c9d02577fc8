#include "models/clip/textual_inversion.h"

#include "veneer/error.h"

namespace veneer::models {

Tensor read_textual_inversion(const formats::SafetensorsFile& file, const ClipKind& kind) {
  if (file.contains(kind.name)) return file.tensor(kind.name);
  if (file.entries().empty()) throw Error(ErrorCode::corrupt, "embedding: file has no tensor", {{"file", file.name()}});
  return file.tensor(file.entries().front().name);
}

}  // namespace veneer::models
