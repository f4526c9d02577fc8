#include "patch/kinds/file_kinds.h"

#include <array>

namespace veneer::patch {
namespace {

constexpr std::string_view kLora[] = {".lora_up.weight",
                                      ".lora_down.weight",
                                      ".lora_mid.weight",
                                      "_lora.up.weight",
                                      "_lora.down.weight",
                                      ".lora_B.weight",
                                      ".lora_A.weight",
                                      ".lora.up.weight",
                                      ".lora.down.weight",
                                      ".lora_B",
                                      ".lora_A",
                                      ".lora_linear_layer.up.weight",
                                      ".lora_linear_layer.down.weight",
                                      ".lora_B.default.weight",
                                      ".lora_A.default.weight",
                                      ".lora_magnitude_vector",
                                      ".lora_magnitude_vector.weight",
                                      ".lora_magnitude_vector.default",
                                      ".lora_magnitude_vector.default.weight"};
constexpr std::string_view kLoha[] = {".hada_w1_a", ".hada_w1_b", ".hada_w2_a", ".hada_w2_b", ".hada_t1", ".hada_t2"};
constexpr std::string_view kLokr[] = {".lokr_w1", ".lokr_w1_a", ".lokr_w1_b", ".lokr_w2", ".lokr_w2_a", ".lokr_w2_b", ".lokr_t2"};
constexpr std::string_view kGlora[] = {".a1.weight", ".a2.weight", ".b1.weight", ".b2.weight"};
constexpr std::string_view kOft[] = {".oft_blocks", ".rescale"};
constexpr std::string_view kNorm[] = {".w_norm"};
constexpr std::string_view kNormBias[] = {".b_norm"};
constexpr std::string_view kDiff[] = {".diff"};
constexpr std::string_view kDiffBias[] = {".diff_b"};
constexpr std::string_view kSet[] = {".set_weight"};
constexpr std::string_view kShared[] = {".alpha", ".dora_scale", ".reshape_weight"};

}  // namespace

std::span<const FileKind> file_kinds() {
  using enum FileKind::Target;
  static constexpr FileKind kAll[] = {
      {"lora", weight, kLora, parse_lora}, {"loha", weight, kLoha, parse_loha},
      {"lokr", weight, kLokr, parse_lokr}, {"glora", weight, kGlora, parse_glora},
      {"oft", weight, kOft, parse_oft},    {"boft", weight, kOft, parse_boft},
      {"norm", weight, kNorm, parse_norm}, {"norm_bias", bias, kNormBias, parse_norm_bias},
      {"diff", weight, kDiff, parse_diff}, {"diff_bias", bias, kDiffBias, parse_diff_bias},
      {"set", weight, kSet, parse_set},
  };
  return kAll;
}

std::span<const std::string_view> shared_suffixes() { return kShared; }

}  // namespace veneer::patch
