#include "server/compat/sampler_names.h"

#include <array>

#include "server/http/url.h"

namespace veneer::server {
namespace {

struct Name {
  std::string_view shown, sampler;
};
constexpr std::array kNames = {Name{"Euler", "euler"},
                               Name{"Euler a", "euler_ancestral"},
                               Name{"Heun", "heun"},
                               Name{"LMS", "lms"},
                               Name{"DPM2", "dpm_2"},
                               Name{"DPM2 a", "dpm_2_ancestral"},
                               Name{"DPM fast", "dpm_fast"},
                               Name{"DPM adaptive", "dpm_adaptive"},
                               Name{"DPM++ 2S a", "dpmpp_2s_ancestral"},
                               Name{"DPM++ SDE", "dpmpp_sde"},
                               Name{"DPM++ 2M", "dpmpp_2m"},
                               Name{"DPM++ 2M SDE", "dpmpp_2m_sde"},
                               Name{"DPM++ 3M SDE", "dpmpp_3m_sde"},
                               Name{"DDIM", "ddim"},
                               Name{"DDPM", "ddpm"},
                               Name{"UniPC", "uni_pc"},
                               Name{"LCM", "lcm"}};
constexpr std::array kSchedules = {
    Name{"Automatic", "normal"},        Name{"Uniform", "normal"}, Name{"Karras", "karras"},     Name{"Exponential", "exponential"},
    Name{"SGM Uniform", "sgm_uniform"}, Name{"Simple", "simple"},  Name{"DDIM", "ddim_uniform"}, Name{"Beta", "beta"}};

template <typename Names>
std::string translated(const Names& names, const std::string& shown) {
  for (const Name& name : names) {
    if (equals_ignoring_case(name.shown, shown)) return std::string(name.sampler);
  }
  return shown;
}

}  // namespace

SamplerChoice sampler_choice(const std::string& sampler, const std::string& scheduler) {
  SamplerChoice out{sampler, scheduler.empty() ? "normal" : translated(kSchedules, scheduler)};
  // Older requests name the schedule with the sampler.
  for (const Name& schedule : {Name{" Karras", "karras"}, Name{" Exponential", "exponential"}}) {
    if (!out.sampler.ends_with(schedule.shown)) continue;
    out.sampler.resize(out.sampler.size() - schedule.shown.size());
    out.scheduler = schedule.sampler;
  }
  out.sampler = translated(kNames, out.sampler);
  return out;
}

std::string web_ui_name(const std::string& sampler) {
  for (const Name& name : kNames) {
    if (name.sampler == sampler) return std::string(name.shown);
  }
  return sampler;
}

std::vector<std::string> choices_of(const Services& services, const char* input) {
  const graph::NodeDef* def = services.core.registry().find("KSampler");
  const graph::InputDef* found = def == nullptr ? nullptr : def->input(input);
  return found == nullptr ? std::vector<std::string>() : found->current_options(services.core.environment());
}

}  // namespace veneer::server
