#include <string>
#include <unordered_set>

#include "patch/key_map.h"

namespace veneer::patch {
namespace {

constexpr std::string_view kWeight = ".weight";
// Encoder layers that trainers adapt, as the model names them and as kohya does.
constexpr std::string_view kLayers[][2] = {{"mlp.fc1", "mlp_fc1"},
                                           {"mlp.fc2", "mlp_fc2"},
                                           {"self_attn.k_proj", "self_attn_k_proj"},
                                           {"self_attn.q_proj", "self_attn_q_proj"},
                                           {"self_attn.v_proj", "self_attn_v_proj"},
                                           {"self_attn.out_proj", "self_attn_out_proj"}};
// More layers than any CLIP text encoder has (OpenCLIP bigG: 32).
constexpr int kMostLayers = 32;

std::string text(std::initializer_list<std::string_view> pieces) {
  std::string joined;
  for (const std::string_view piece : pieces) joined.append(piece);
  return joined;
}

// Names of one encoder's layers: kohya_prefixes + "_text_model_encoder_layers_N_mlp_fc1", diffusers_prefix + ".text_model.encoder.layers.N.mlp.fc1".
struct Encoder {
  std::string_view model;  // "clip_l"
  std::vector<std::string_view> kohya_prefixes;
  std::string_view diffusers_prefix;
};

}  // namespace

void add_clip_keys(KeyMap& map, std::span<const std::string> keys, PatchCompat compat) {
  std::unordered_set<std::string_view> known(keys.begin(), keys.end());
  bool has_l = false;
  for (const std::string& key : keys) {
    if (!key.ends_with(kWeight)) continue;
    map.add(text({"text_encoders.", std::string_view(key).substr(0, key.size() - kWeight.size())}), key);
    has_l = has_l || key.starts_with("clip_l.transformer.text_model.encoder.");
  }
  std::vector<Encoder> encoders = {{"clip_h", {"lora_te", "lora_te1"}, "text_encoder"}, {"clip_l", {"lora_te", "lora_te1"}, "text_encoder"}};
  // Beside clip_l the larger encoder is the second one (SDXL); alone it is the only one (SDXL's refiner).
  if (has_l) {
    encoders.push_back({"clip_g", {"lora_te2"}, "text_encoder_2"});
  } else {
    encoders.push_back({"clip_g", {"lora_te", "lora_prior_te"}, "text_encoder"});
  }
  for (int layer = 0; layer < kMostLayers; ++layer) {
    const std::string index = std::to_string(layer);
    for (const auto& [name, kohya] : kLayers) {
      for (const Encoder& encoder : encoders) {
        const std::string key = text({encoder.model, ".transformer.text_model.encoder.layers.", index, ".", name, kWeight});
        if (!known.contains(key)) continue;
        for (const std::string_view prefix : encoder.kohya_prefixes) map.add(text({prefix, "_text_model_encoder_layers_", index, "_", kohya}), key);
        map.add(text({encoder.diffusers_prefix, ".text_model.encoder.layers.", index, ".", name}), key);
        // As transformers and PEFT name the layers of an encoder alone.
        const bool only = compat == PatchCompat::standard && encoder.diffusers_prefix == "text_encoder";
        if (only) map.add(text({"text_model.encoder.layers.", index, ".", name}), key);
      }
    }
  }
  const std::string projection_g = "clip_g.transformer.text_projection.weight", projection_l = "clip_l.transformer.text_projection.weight";
  if (known.contains(projection_g)) {
    map.add("lora_prior_te_text_projection", projection_g);
    map.add("lora_te2_text_projection", projection_g);
  }
  if (known.contains(projection_l)) map.add("lora_te1_text_projection", projection_l);
}

}  // namespace veneer::patch
