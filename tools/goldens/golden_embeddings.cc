#include "golden_embeddings.h"

#include "models/clip/textual_inversion.h"

namespace veneer::goldens {

models::EmbeddingSource golden_embeddings(const Group& group) {
  std::map<std::string, Tensor, std::less<>> known;
  const std::filesystem::path folder = group.root() / "tokenizer" / "embeddings";
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".safetensors") continue;
      const Tensor vectors = models::read_textual_inversion(formats::ModelFile::open(entry.path()), models::sd1_clip_l());
      known.emplace(entry.path().filename().string(), vectors);
      known.emplace(entry.path().stem().string(), vectors);
    }
  }
  return [known](std::string_view name) {
    const auto found = known.find(name);
    return found == known.end() ? std::optional<Tensor>() : found->second;
  };
}

}  // namespace veneer::goldens
