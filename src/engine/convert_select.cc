#include "engine/convert_select.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "veneer/error.h"

namespace veneer::engine {
namespace {

// What a part's names begin with in a checkpoint, and what that becomes in a file of its own.
struct PartPrefix {
  std::string_view part, in_checkpoint, alone;
};

constexpr auto kParts = std::to_array<PartPrefix>({{"unet", "model.diffusion_model.", ""},
                                                   {"vae", "first_stage_model.", ""},
                                                   {"vae", "vae.", ""},
                                                   {"clip", "cond_stage_model.transformer.", ""},
                                                   {"clip", "cond_stage_model.model.", ""},
                                                   {"clip", "cond_stage_model.", ""},
                                                   {"clip", "text_encoders.", "text_encoders."},
                                                   // Two encoders: their names have to stay apart.
                                                   {"clip", "conditioner.embedders.", "conditioner.embedders."}});

// Running averages of weights that a training keeps.
bool is_average(std::string_view name) { return name.starts_with("model_ema.") || name.starts_with("ema."); }

// Constants of the noise schedule as buffers, counters of a loss, states of an optimizer.
bool is_of_training(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"betas", "alphas_cumprod", "alphas_cumprod_prev", "sqrt_alphas_cumprod", "sqrt_one_minus_alphas_cumprod", "log_one_minus_alphas_cumprod",
       "sqrt_recip_alphas_cumprod", "sqrt_recipm1_alphas_cumprod", "posterior_variance", "posterior_log_variance_clipped", "posterior_mean_coef1",
       "posterior_mean_coef2", "lvlb_weights", "logvar", "denoiser.sigmas", "scale_factor"});
  constexpr auto kBegins =
      std::to_array<std::string_view>({"optimizer_states.", "optimizer.", "lr_schedulers.", "callbacks.", "loss.", "first_stage_model.loss."});
  const auto begins = [name](std::string_view begin) { return name.starts_with(begin); };
  return std::ranges::find(kNames, name) != kNames.end() || std::ranges::any_of(kBegins, begins) || name.ends_with(".position_ids");
}

// The name in a file of the part alone; nullopt for a tensor of another part.
std::optional<std::string> name_alone(std::string_view name, std::string_view part) {
  for (const PartPrefix& prefix : kParts) {
    if (prefix.part != part || !name.starts_with(prefix.in_checkpoint)) continue;
    return std::string(prefix.alone) + std::string(name.substr(prefix.in_checkpoint.size()));
  }
  return std::nullopt;
}

void require_part(const std::string& part) {
  if (part.empty() || std::ranges::find(kParts, part, &PartPrefix::part) != kParts.end()) return;
  throw Error(ErrorCode::invalid, "convert: no such part to extract", {{"extract", part}, {"allowed", "unet, vae, clip"}});
}

[[noreturn]] void fail_without(const std::string& part, const std::string& file) {
  std::string begins;
  for (const PartPrefix& prefix : kParts) {
    if (prefix.part == part) begins += (begins.empty() ? "" : ", ") + std::string(prefix.in_checkpoint);
  }
  throw Error(ErrorCode::invalid, "convert: file has no such part", {{"file", file}, {"extract", part}, {"names begin with", begins}});
}

}  // namespace

Selection select_tensors(const formats::ModelFile& file, const std::string& extract, bool prune_ema, bool strip) {
  require_part(extract);
  Selection out;
  for (const formats::ModelFile::Entry& entry : file.entries()) {
    std::optional<std::string> target = entry.name;
    if ((prune_ema || strip) && is_average(entry.name)) target.reset();
    if (strip && is_of_training(entry.name)) target.reset();
    if (target && !extract.empty()) target = name_alone(entry.name, extract);
    if (target) {
      out.tensors.push_back({entry.name, *target});
    } else {
      ++out.num_left_out;
    }
  }
  if (out.tensors.empty() && !extract.empty()) fail_without(extract, file.name());
  return out;
}

}  // namespace veneer::engine
