#include <algorithm>
#include <string>

#include "patch/adapter_file.h"

namespace veneer::patch {
namespace {

struct Sign {
  std::string_view part;  // of a metadata value or a tensor's name
  std::string_view architecture;
};

// Values of ss_base_model_version and modelspec.architecture, the more special first.
constexpr Sign kMetadata[] = {{"sdxl", "sdxl"},
                              {"stable-diffusion-xl", "sdxl"},
                              {"sd3", "sd3"},
                              {"stable-diffusion-3", "sd3"},
                              {"flux", "flux"},
                              {"sd_v2", "sd2"},
                              {"stable-diffusion-v2", "sd2"},
                              {"sd_v1", "sd1"},
                              {"stable-diffusion-v1", "sd1"},
                              {"hunyuan_video", "hunyuan_video"},
                              {"wan", "wan"},
                              {"lumina", "lumina"}};

constexpr Sign kNames[] = {{"single_transformer_blocks", "flux"},
                           {"single_blocks", "flux"},
                           {"double_blocks", "flux"},
                           {"joint_blocks", "sd3"},
                           {"add_k_proj", "sd3"},
                           {"lora_te2_", "sdxl"},
                           {"text_encoder_2.", "sdxl"},
                           {"add_embedding", "sdxl"},
                           {"label_emb", "sdxl"},
                           {"transformer_blocks_9_", "sdxl"},
                           {"transformer_blocks.9.", "sdxl"}};

// Width of the text that cross attention reads, from the down factor of an attn2 key projection.
std::string_view from_context_width(const AdapterTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    const bool down = name.find("down") != std::string::npos || name.find("lora_A") != std::string::npos;
    const bool key = name.find("attn2_to_k") != std::string::npos || name.find("attn2.to_k") != std::string::npos;
    if (!down || !key || tensor.rank() < 2) continue;
    if (tensor.dim(1) == 768) return "sd1";
    if (tensor.dim(1) == 1024) return "sd2";
    if (tensor.dim(1) == 2048) return "sdxl";
  }
  return "";
}

}  // namespace

std::string guess_architecture(const AdapterTensors& tensors, const std::map<std::string, std::string>& metadata) {
  for (const char* field : {"modelspec.architecture", "ss_base_model_version"}) {
    const auto it = metadata.find(field);
    if (it == metadata.end()) continue;
    for (const Sign& sign : kMetadata) {
      if (it->second.find(sign.part) != std::string::npos) return std::string(sign.architecture);
    }
  }
  for (const Sign& sign : kNames) {
    for (const auto& [name, tensor] : tensors) {
      if (name.find(sign.part) != std::string::npos) return std::string(sign.architecture);
    }
  }
  const std::string_view by_width = from_context_width(tensors);
  return by_width.empty() ? "unknown" : std::string(by_width);
}

}  // namespace veneer::patch
