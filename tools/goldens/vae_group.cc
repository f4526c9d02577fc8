// vae: models/vae.safetensors encoding and decoding, whole and in tiles, its posterior, and latents for inpainting.
#include <cstring>

#include "golden_set.h"
#include "models/family/checkpoint.h"
#include "models/vae/inpaint.h"
#include "models/vae/tiled.h"
#include "network_set.h"
#include "sampling/rng.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

struct Subject {
  models::LoadedVae vae;
  variant::ModelPatcher variant;
};

models::TileSize tile_of(const nlohmann::json& params) {
  return {params.at("tile_x").get<int64_t>(), params.at("tile_y").get<int64_t>(), params.at("overlap").get<int64_t>()};
}

// Joins results of single elements of a batch.
Tensor joined(const std::vector<Tensor>& rows) {
  Tensor out = Tensor::empty(rows.at(0).shape().with(0, static_cast<int64_t>(rows.size())), DType::f32);
  for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out.mutable_bytes() + i * rows[i].size_bytes(), rows[i].bytes(), rows[i].size_bytes());
  return out;
}

void run_sampled(Case& golden) {
  const models::Posterior posterior = models::posterior_of(golden.input("moments"));
  golden.check("mean", posterior.mean);
  golden.check("std", posterior.std);
  sampling::TorchGenerator generator(golden.params().at("seed").get<uint64_t>());
  golden.check("sample", models::sample_posterior(posterior, sampling::randn(posterior.mean.shape(), generator)));
}

void run_tiled(const Subject& subject, variant::ModelView& view, compute::Context& context, Case& golden) {
  const models::TileSize tile = tile_of(golden.params());
  if (golden.has_input("latent")) {
    golden.check("image", models::decode_tiled(*subject.vae.network, view, context, golden.input("latent"), tile));
  } else {
    golden.check("latent", models::encode_tiled(*subject.vae.network, view, context, golden.input("image"), tile));
  }
}

void run_inpaint(const Subject& subject, variant::ModelView& view, compute::Context& context, Case& golden) {
  const models::InpaintLatent got = models::encode_for_inpaint(*subject.vae.network, view, context, golden.input("pixels"), golden.input("mask"),
                                                               golden.params().at("grow_mask_by").get<int>());
  golden.check("samples", got.samples);
  golden.check("noise_mask", got.noise_mask);
  // Stated exact by the manifest.
  const Tensor want = golden.expected("noise_mask");
  golden.require(want.size_bytes() == got.noise_mask.size_bytes() && std::memcmp(want.bytes(), got.noise_mask.bytes(), want.size_bytes()) == 0,
                 "noise_mask: not exact");
}

// Whole encodings and decodings, and the results of single modules on the way.
void run_whole(const Subject& subject, variant::ModelView& view, compute::Context& context, Case& golden) {
  std::map<std::string, std::vector<Tensor>> seen;
  models::VaeCallExtras extras;
  extras.observe = [&](const std::string& module, const Tensor& h) {
    if (golden.has_output(module)) seen[module].push_back(planar(h));
  };
  if (golden.has_input("image")) {
    const Tensor moments = subject.vae.network->encode_moments(view, context, golden.input("image"), extras);
    if (golden.has_output("moments")) golden.check("moments", moments);
    if (golden.has_output("latent")) golden.check("latent", models::posterior_of(moments).mean);
  }
  if (golden.has_input("latent")) {
    const Tensor raw = subject.vae.network->decode_raw(view, context, golden.input("latent"), extras);
    if (golden.has_output("raw")) golden.check("raw", planar(raw));
    if (golden.has_output("image")) golden.check("image", models::image_from_raw(raw.clone()));
  }
  for (const auto& [module, rows] : seen) golden.check(module, joined(rows));
}

}  // namespace

Runner make_vae_runner(const Group& group) {
  models::LoadedVae vae = models::load_vae(models::tensors_of(group.model("vae")), "vae.safetensors");
  const auto subject = std::make_shared<Subject>(Subject{vae, f32_variant(vae.base)});
  return [subject](Case& golden) {
    compute::Context context;
    const auto view = subject->variant.open_view();
    if (golden.has_input("moments")) {
      run_sampled(golden);
    } else if (golden.params().contains("tile_x")) {
      run_tiled(*subject, *view, context, golden);
    } else if (golden.params().contains("grow_mask_by")) {
      run_inpaint(*subject, *view, context, golden);
    } else {
      run_whole(*subject, *view, context, golden);
    }
  };
}

}  // namespace veneer::goldens
