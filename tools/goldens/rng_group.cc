// Random numbers: torch's CPU generator, and the starting noise of a run.
#include "golden_set.h"
#include "sampling/noise.h"
#include "sampling/rng.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

DType dtype_of(const nlohmann::json& params) {
  const std::string name = params.value("dtype", "float32");
  if (name == "float32") return DType::f32;
  if (name == "float16") return DType::f16;
  if (name == "bfloat16") return DType::bf16;
  throw Error(ErrorCode::unsupported, "goldens: unknown dtype", {{"dtype", name}});
}

Shape shape_of(const nlohmann::json& dims) { return Shape(dims.get<std::vector<int64_t>>()); }

void run_noise(Case& golden) {
  const auto& params = golden.params();
  const Shape shape = shape_of(params.contains("shape") ? params.at("shape") : params.at("latent_shape"));
  std::vector<int64_t> indices;
  if (params.contains("noise_inds") && !params.at("noise_inds").is_null()) indices = params.at("noise_inds").get<std::vector<int64_t>>();
  golden.check("noise", sampling::prepare_noise(shape, params.at("seed").get<uint64_t>(), indices, dtype_of(params)));
}

void run_sequence(Case& golden) {
  sampling::TorchGenerator generator(golden.params().at("seed").get<uint64_t>());
  size_t call = 0;
  for (const auto& size : golden.params().at("sizes")) {
    golden.check("randn_" + std::to_string(call++), sampling::randn(Shape{size.get<int64_t>()}, generator, dtype_of(golden.params())));
  }
}

void run_case(Case& golden) {
  const auto& params = golden.params();
  if (golden.has_output("noise")) return run_noise(golden);
  if (params.contains("sizes")) return run_sequence(golden);
  std::vector<uint64_t> seeds;
  if (params.contains("seeds")) {
    seeds = params.at("seeds").get<std::vector<uint64_t>>();
  } else {
    seeds = {params.at("seed").get<uint64_t>()};
  }
  for (const uint64_t seed : seeds) {
    sampling::TorchGenerator generator(seed);
    const Shape shape = shape_of(params.at("shape"));
    if (golden.has_output("rand")) golden.check("rand", sampling::rand(shape, generator, dtype_of(params)));
    if (golden.has_output("randn")) golden.check("randn", sampling::randn(shape, generator, dtype_of(params)));
  }
}

}  // namespace

Runner make_rng_runner(const Group& /*group*/) { return run_case; }

}  // namespace veneer::goldens
