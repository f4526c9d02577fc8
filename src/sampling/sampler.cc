#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "sampling/samplers/families.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr NoiseKind kGenerator = NoiseKind::generator;
constexpr NoiseKind kBrownian = NoiseKind::brownian_tree;
constexpr int kMaxOrder = 100;

// Names ending in _gpu differ from their twins only in where the reference draws its noise.
constexpr SamplerDef kSamplers[] = {
    {.name = "euler", .run = sample_euler},
    {.name = "euler_cfg_pp", .needs_uncond = true, .run = sample_euler_cfg_pp},
    {.name = "euler_ancestral", .noise = kGenerator, .run = sample_euler_ancestral},
    {.name = "euler_ancestral_cfg_pp", .noise = kGenerator, .needs_uncond = true, .run = sample_euler_ancestral_cfg_pp},
    {.name = "heun", .run = sample_heun},
    {.name = "heunpp2", .run = sample_heunpp2},
    {.name = "dpm_2", .discard_penultimate = true, .run = sample_dpm_2},
    {.name = "dpm_2_ancestral", .noise = kGenerator, .discard_penultimate = true, .run = sample_dpm_2_ancestral},
    {.name = "lms", .run = sample_lms},
    {.name = "dpm_fast", .noise = kGenerator, .run = sample_dpm_fast},
    {.name = "dpm_adaptive", .noise = kGenerator, .run = sample_dpm_adaptive},
    {.name = "dpmpp_2s_ancestral", .noise = kGenerator, .run = sample_dpmpp_2s_ancestral},
    {.name = "dpmpp_2s_ancestral_cfg_pp", .noise = kGenerator, .needs_uncond = true, .run = sample_dpmpp_2s_ancestral_cfg_pp},
    {.name = "dpmpp_sde", .noise = kBrownian, .run = sample_dpmpp_sde},
    {.name = "dpmpp_sde_gpu", .noise = kBrownian, .run = sample_dpmpp_sde},
    {.name = "dpmpp_2m", .run = sample_dpmpp_2m},
    {.name = "dpmpp_2m_cfg_pp", .needs_uncond = true, .run = sample_dpmpp_2m_cfg_pp},
    {.name = "dpmpp_2m_sde", .noise = kBrownian, .run = sample_dpmpp_2m_sde},
    {.name = "dpmpp_2m_sde_gpu", .noise = kBrownian, .run = sample_dpmpp_2m_sde},
    {.name = "dpmpp_2m_sde_heun", .noise = kBrownian, .run = sample_dpmpp_2m_sde_heun},
    {.name = "dpmpp_2m_sde_heun_gpu", .noise = kBrownian, .run = sample_dpmpp_2m_sde_heun},
    {.name = "dpmpp_3m_sde", .noise = kBrownian, .run = sample_dpmpp_3m_sde},
    {.name = "dpmpp_3m_sde_gpu", .noise = kBrownian, .run = sample_dpmpp_3m_sde},
    {.name = "ddpm", .noise = kGenerator, .run = sample_ddpm},
    {.name = "lcm", .noise = kGenerator, .run = sample_lcm},
    {.name = "ipndm", .run = sample_ipndm},
    {.name = "ipndm_v", .run = sample_ipndm_v},
    {.name = "deis", .run = sample_deis},
    {.name = "res_multistep", .noise = kGenerator, .run = sample_res_multistep},
    {.name = "res_multistep_cfg_pp", .noise = kGenerator, .needs_uncond = true, .run = sample_res_multistep_cfg_pp},
    {.name = "res_multistep_ancestral", .noise = kGenerator, .run = sample_res_multistep_ancestral},
    {.name = "res_multistep_ancestral_cfg_pp", .noise = kGenerator, .needs_uncond = true, .run = sample_res_multistep_ancestral_cfg_pp},
    {.name = "gradient_estimation", .run = sample_gradient_estimation},
    {.name = "gradient_estimation_cfg_pp", .needs_uncond = true, .run = sample_gradient_estimation_cfg_pp},
    {.name = "er_sde", .noise = kGenerator, .run = sample_er_sde},
    {.name = "seeds_2", .noise = kGenerator, .run = sample_seeds_2},
    {.name = "seeds_3", .noise = kGenerator, .run = sample_seeds_3},
    {.name = "sa_solver", .noise = kGenerator, .run = sample_sa_solver},
    {.name = "sa_solver_pece", .noise = kGenerator, .run = sample_sa_solver_pece},
    {.name = "ddim", .fresh_inpaint_noise = true, .run = sample_euler},
    {.name = "uni_pc", .discard_penultimate = true, .run = sample_uni_pc},
    {.name = "uni_pc_bh2", .discard_penultimate = true, .run = sample_uni_pc_bh2},
};

// Asks for the unconditional prediction while it lives.
class RequireUncond {
 public:
  RequireUncond(Denoiser& model, bool on) : model_(on ? &model : nullptr) {
    if (model_ != nullptr) model_->require_uncond(true);
  }
  ~RequireUncond() {
    if (model_ != nullptr) model_->require_uncond(false);
  }
  RequireUncond(const RequireUncond&) = delete;
  RequireUncond& operator=(const RequireUncond&) = delete;

 private:
  Denoiser* model_;
};

void check(const SamplerRun& run) {
  if (!run.x.defined() || run.x.dtype() != DType::f32) throw Error(ErrorCode::invalid, "sampler: latents have to be f32");
  for (size_t i = 0; i < run.sigmas.size(); ++i) {
    if (std::isfinite(run.sigmas[i]) && run.sigmas[i] >= 0) continue;
    throw Error(ErrorCode::invalid, "sampler: a sigma is negative or not finite",
                {{"index", std::to_string(i)}, {"sigma", std::to_string(run.sigmas[i])}});
  }
  const SamplerOptions& options = run.options;
  const float eta = options.eta.value_or(0.0F);
  const bool ok = std::isfinite(eta) && eta >= 0 && std::isfinite(options.s_noise) && options.s_noise >= 0 && options.r > 0 && options.r <= 1 &&
                  options.order >= 1 && options.order <= kMaxOrder;
  if (ok) return;
  throw Error(ErrorCode::invalid, "sampler: an option is out of range",
              {{"eta", std::to_string(eta)},
               {"s_noise", std::to_string(options.s_noise)},
               {"r", std::to_string(options.r)},
               {"order", std::to_string(options.order)}});
}

std::unique_ptr<NoiseSource> make_noise(NoiseKind kind, const SamplerRun& run) {
  if (kind == NoiseKind::none) return nullptr;
  if (kind == NoiseKind::generator) return make_generator_noise(run.x.shape(), run.seed);
  const float largest = *std::max_element(run.sigmas.begin(), run.sigmas.end());
  float smallest = largest;
  for (const float sigma : run.sigmas) {
    if (sigma > 0) smallest = std::min(smallest, sigma);
  }
  return make_brownian_noise(run.x.shape(), run.seed, smallest, largest);
}

}  // namespace

std::span<const SamplerDef> all_samplers() { return kSamplers; }

const SamplerDef& find_sampler(std::string_view name) {
  std::string allowed;
  for (const SamplerDef& def : kSamplers) {
    if (def.name == name) return def;
    allowed += (allowed.empty() ? "" : ", ") + std::string(def.name);
  }
  throw Error(ErrorCode::invalid, "sampler: unknown sampler", {{"name", std::string(name)}, {"allowed", allowed}});
}

Tensor run_sampler(const SamplerDef& sampler, SamplerRun run) {
  check(run);
  if (run.sigmas.size() < 2 || run.x.num_elements() == 0) return run.x;
  std::unique_ptr<NoiseSource> own_noise;
  if (run.noise == nullptr) {
    own_noise = make_noise(sampler.noise, run);
    run.noise = own_noise.get();
  }
  const RequireUncond uncond(run.model, sampler.needs_uncond);
  return sampler.run(run);
}

}  // namespace veneer::sampling
