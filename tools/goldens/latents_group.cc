// latents: resizing, pasting, geometry, batches and masks of latents, and runs that start from a latent (img2img, inpainting, parts of a schedule).
#include <functional>
#include <map>
#include <string>

#include "golden_set.h"
#include "sample_case.h"
#include "sampling/composite.h"
#include "sampling/latent_batch.h"
#include "sampling/latent_ops.h"
#include "sampling/mask_ops.h"
#include "sampling/noise.h"
#include "sampling/resample.h"
#include "sampling/sample.h"
#include "tiny_unet.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using sampling::Latent;

constexpr int64_t kPixels = 8;  // nodes count in pixels

int64_t elements(const Case& golden, const char* key) { return golden.params().at(key).get<int64_t>() / kPixels; }

Latent latent_of(const Case& golden, const char* role) { return Latent{.samples = golden.input(role)}; }

void run_upscale(Case& golden) {
  const auto& params = golden.params();
  golden.check("out", sampling::resample(golden.input("samples"), params.at("width").get<int64_t>(), params.at("height").get<int64_t>(),
                                         sampling::resample_method_from_string(params.at("method").get<std::string>()),
                                         sampling::crop_from_string(params.at("crop").get<std::string>())));
}

void run_composite(Case& golden) {
  golden.check("out", sampling::composite(golden.input("to"), golden.input("from"), elements(golden, "x"), elements(golden, "y"),
                                          elements(golden, "feather")));
}

void run_composite_masked(Case& golden) {
  const sampling::MaskedComposite options{elements(golden, "x"), elements(golden, "y"), golden.params().at("resize_source").get<bool>()};
  const Tensor mask = golden.has_input("mask") ? golden.input("mask") : Tensor();
  golden.check("out", sampling::composite_masked(golden.input("destination"), golden.input("source"), mask, options));
}

void run_blend(Case& golden) {
  const float factor = golden.params().at("blend_factor").get<float>();
  golden.check("out", sampling::blend_latents(latent_of(golden, "samples1"), latent_of(golden, "samples2"), factor).samples);
}

void run_crop(Case& golden) {
  const sampling::Box box{elements(golden, "y"), elements(golden, "x"), elements(golden, "height"), elements(golden, "width")};
  golden.check("out", sampling::crop_latent(latent_of(golden, "samples"), box).samples);
}

void run_rotate(Case& golden) {
  const auto rotation = golden.params().at("rotation").get<std::string>();
  const int turns = rotation.starts_with("90") ? 1 : rotation.starts_with("180") ? 2 : rotation.starts_with("270") ? 3 : 0;
  golden.check("out", sampling::rotate_latent(latent_of(golden, "samples"), turns).samples);
}

void run_flip(Case& golden) {
  const auto method = golden.params().at("flip_method").get<std::string>();
  const auto axis = method.starts_with("x") ? sampling::FlipAxis::x : sampling::FlipAxis::y;
  golden.check("out", sampling::flip_latent(latent_of(golden, "samples"), axis).samples);
}

// What each batch case does, by its name: the manifest gives the calls in a note for all of them.
Latent batch_result(const std::string& kind, const Latent& in) {
  if (kind == "repeat2") return sampling::repeat_latent_batch(in, 2);
  if (kind == "from_batch") return sampling::latent_from_batch(in, 1, 2);
  if (kind == "from_batch_repeat") return sampling::repeat_latent_batch(sampling::latent_from_batch(in, 1, 2), 3);
  if (kind == "from_batch_twice") return sampling::latent_from_batch(sampling::latent_from_batch(in, 1, 2), 1, 1);
  if (kind == "from_batch_one_repeat") return sampling::repeat_latent_batch(sampling::latent_from_batch(in, 2, 1), 2);
  if (kind == "from_batch_beyond") return sampling::latent_from_batch(in, in.samples.dim(0) + 2, 4);
  throw Error(ErrorCode::unsupported, "goldens: unknown batch case", {{"kind", kind}});
}

void run_batch(Case& golden) {
  const Latent out = batch_result(golden.name().substr(golden.name().find('/') + 1), latent_of(golden, "samples"));
  const auto& want = golden.expect().at("batch_index");
  const auto numbers = want.is_null() ? std::vector<int64_t>() : want.get<std::vector<int64_t>>();
  golden.require(out.batch_index == numbers, "batch_index differs");
  golden.check("out", out.samples);
  golden.check("noise", sampling::prepare_noise(out.samples.shape(), golden.params().at("seed").get<uint64_t>(), out.batch_index));
}

void run_mask(Case& golden) {
  golden.check("out", sampling::reshape_mask(golden.input("mask"), Shape(golden.params().at("shape").get<std::vector<int64_t>>())));
}

void run_sample(Case& golden, const sampling::Network& network) {
  const auto model_sampling = sampling::ModelSampling::discrete(sampling::Prediction::eps);
  sampling::SampleRequest request{.model_sampling = model_sampling, .network = network};
  read_sample_params(golden, request);
  request.positive = {sampling::ConditioningEntry{.context = golden.input("positive")}};
  request.negative = {sampling::ConditioningEntry{.context = golden.input("negative")}};
  check_sigmas(golden, request);
  golden.check("latent_out", sampling::sample(request));
}

}  // namespace

Runner make_latents_runner(const Group& group) {
  static const std::map<std::string, void (*)(Case&), std::less<>> kRunners = {
      {"upscale", run_upscale}, {"composite", run_composite}, {"composite_masked", run_composite_masked},
      {"blend", run_blend},     {"blend_resized", run_blend}, {"crop", run_crop},
      {"rotate", run_rotate},   {"flip", run_flip},           {"batch", run_batch},
      {"mask", run_mask}};
  // Most cases need no network, and a small folder may have none.
  return [network = sampling::Network(), &group](Case& golden) mutable {
    const std::string kind = golden.name().substr(0, golden.name().find('/'));
    if (golden.has_output("latent_out")) {
      if (!network) network = make_tiny_unet(group);
      return run_sample(golden, network);
    }
    const auto found = kRunners.find(kind);
    if (found == kRunners.end()) throw Error(ErrorCode::unsupported, "goldens: unknown kind of latents case", {{"kind", kind}});
    found->second(golden);
  };
}

}  // namespace veneer::goldens
