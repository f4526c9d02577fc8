#include "models/family/random_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "models/clip/text_encoder.h"
#include "tensor/convert.h"

namespace veneer::models {
namespace {

// Prime, so that rows of a matrix do not begin at the same place of the table.
constexpr int64_t kTableSize = 65537;

uint64_t next(uint64_t& state) {  // SplitMix64 (Steele, Lea, Flood 2014)
  uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Uniform values of variance 1.
Tensor unit_table(uint64_t& state) {
  Tensor table = Tensor::empty(Shape({kTableSize}), DType::f32);
  for (float& value : table.mutable_floats()) value = (static_cast<float>(next(state) >> 40) * 0x1p-23F - 1.0F) * std::sqrt(3.0F);
  return table;
}

// The table times `deviation`, repeated, from some place on.
Tensor filled(const Shape& shape, DType dtype, const Tensor& table, float deviation, uint64_t& state) {
  Tensor scaled = Tensor::empty(table.shape(), DType::f32);
  std::transform(table.floats().begin(), table.floats().end(), scaled.mutable_data<float>(), [&](float v) { return v * deviation; });
  scaled = to_dtype(scaled, dtype);
  Tensor out = Tensor::empty(shape, dtype);
  const size_t start = static_cast<size_t>(next(state) % kTableSize) * size_of(dtype);
  for (size_t done = 0, from = start; done < out.size_bytes(); from = 0) {
    const size_t count = std::min(out.size_bytes() - done, scaled.size_bytes() - from);
    std::memcpy(out.mutable_bytes() + done, scaled.bytes() + from, count);
    done += count;
  }
  return out;
}

Tensor constant(const Shape& shape, DType dtype, float value) {
  Tensor out = Tensor::empty(shape, DType::f32);
  std::fill(out.mutable_floats().begin(), out.mutable_floats().end(), value);
  return to_dtype(out, dtype);
}

void add_under(WeightMap& to, const WeightMap& from, std::string_view name, std::string_view prefix) {
  for (const auto& [key, tensor] : from) to.emplace(std::string(prefix) + key.substr(name.size()), tensor);
}

}  // namespace

WeightMap random_weights(const Architecture& architecture, DType dtype, uint64_t seed) {
  uint64_t state = seed;
  const Tensor table = unit_table(state);
  std::map<std::string_view, const Shape*> shapes;
  for (const WeightSpec& spec : architecture.weights) shapes.emplace(spec.key, &spec.shape);
  WeightMap out;
  for (const variant::ModuleDef& module : architecture.table.modules()) {
    const std::string key = module.name + ".weight";
    const Shape& shape = *shapes.at(key);
    if (module.kind == variant::ModuleKind::norm) {
      out.emplace(key, constant(shape, dtype, 1.0F));
    } else {
      // A row of an embedding is a vector of its own: its size does not depend on how many rows there are.
      const double inputs = module.kind == variant::ModuleKind::embedding ? 2500.0 : static_cast<double>(shape.num_elements_from(1));
      out.emplace(key, filled(shape, dtype, table, static_cast<float>(1.0 / std::sqrt(inputs)), state));
    }
    if (module.has_bias) out.emplace(module.name + ".bias", constant(Shape({shape[0]}), dtype, 0.0F));
  }
  return out;
}

WeightMap random_sd15_tensors(DType dtype, uint64_t seed) {
  const FamilyDef& family = all_families().front();
  const ClipKind& kind = family.clip();
  ClipConfig clip{.kind = kind, .vocabulary = 49408, .positions = 77, .width = 768, .layers = 12, .heads = 12, .feed_forward = 3072};
  WeightMap out;
  add_under(out, random_weights(Unet(sd15_unet_config()).architecture(), dtype, seed), family.unet_name, family.unet_prefix);
  add_under(out, random_weights(Vae(sd15_vae_config()).architecture(), dtype, seed + 1), family.vae_name, family.vae_prefix);
  add_under(out, random_weights(ClipTextModel(clip).architecture(), dtype, seed + 2), clip_key_prefix(kind) + "text_model.",
            kind.file_prefixes.front());
  return out;
}

LoadedCheckpoint random_sd15(DType dtype, uint64_t seed) { return load_checkpoint(random_sd15_tensors(dtype, seed), "random SD 1.5"); }

}  // namespace veneer::models
