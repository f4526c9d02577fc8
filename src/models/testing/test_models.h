// Small networks with made-up weights for the tests of this room.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "compute/test_data.h"
#include "models/family/random_model.h"
#include "models/unet/unet.h"
#include "models/vae/vae.h"
#include "variant/model_patcher.h"

namespace veneer::models::testing {

// Weights whose norms and biases are no identities either, so that a forgotten one shows.
inline WeightMap test_weights(const Architecture& architecture, uint32_t seed) {
  WeightMap weights = random_weights(architecture, DType::f32, seed);
  for (auto& [key, tensor] : weights) {
    if (tensor.rank() == 1) tensor = compute::random_tensor(tensor.shape(), ++seed, 0.2F, key.ends_with(".weight") ? 1.0F : 0.0F);
  }
  return weights;
}

inline UnetConfig tiny_unet_config() {
  UnetConfig config;
  config.model_channels = 32;
  config.levels = {{32, {1}, {1, 0}}, {64, {2}, {1, 1}}};
  config.context_dim = 24;
  config.heads.heads = 4;
  return config;
}

inline VaeConfig tiny_vae_config() {
  VaeConfig config;
  config.encoder_width = 32;
  config.z_channels = config.latent_channels = 4;
  config.encoder = {{32, 1}, {64, 1}};
  config.decoder = {{32, 2}, {64, 2}};
  return config;
}

inline ClipConfig tiny_clip_config() {
  return {.kind = sd1_clip_l(),
          .vocabulary = 49408,
          .positions = 77,
          .width = 64,
          .layers = 1,
          .heads = 1,
          .feed_forward = 128,
          .text_projection = false};
}

inline std::shared_ptr<const variant::BaseModel> base_of(const Architecture& architecture, WeightMap weights) {
  return variant::BaseModel::create("test", architecture.table, std::move(weights), "test");
}

inline variant::ModelPatcher variant_of(std::shared_ptr<const variant::BaseModel> base, DType dtype = DType::f32) {
  return variant::ModelPatcher(std::move(base), std::make_shared<residency::ResidentSet>(), dtype);
}

}  // namespace veneer::models::testing
