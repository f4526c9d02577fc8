// ComfyUI's kinds of models as data: name, folders, extensions. A new kind is one line.
#include <array>

#include "registry/model_folders.h"

namespace veneer::registry {
std::span<const ModelKind> default_model_kinds() {
  static const std::vector<std::string> kWeights = {".safetensors", ".sft", ".ckpt", ".pt", ".pt2", ".pth", ".bin", ".pkl", ".gguf"};
  static const std::array kKinds = {
      ModelKind{"audio_encoders", {"audio_encoders"}, kWeights},
      ModelKind{"checkpoints", {"checkpoints"}, kWeights},
      ModelKind{"clip_vision", {"clip_vision"}, kWeights},
      ModelKind{"configs", {"configs"}, {".yaml"}},
      ModelKind{"controlnet", {"controlnet", "t2i_adapter"}, kWeights},
      ModelKind{"diffusers", {"diffusers"}, {}},
      ModelKind{"diffusion_models", {"unet", "diffusion_models"}, kWeights},
      ModelKind{"embeddings", {"embeddings"}, kWeights},
      ModelKind{"gligen", {"gligen"}, kWeights},
      ModelKind{"hypernetworks", {"hypernetworks"}, kWeights},
      ModelKind{"latent_upscale_models", {"latent_upscale_models"}, kWeights},
      ModelKind{"loras", {"loras"}, kWeights},
      ModelKind{"model_patches", {"model_patches"}, kWeights},
      ModelKind{"photomaker", {"photomaker"}, kWeights},
      ModelKind{"style_models", {"style_models"}, kWeights},
      ModelKind{"text_encoders", {"text_encoders", "clip"}, kWeights},
      ModelKind{"upscale_models", {"upscale_models"}, kWeights},
      ModelKind{"vae", {"vae"}, kWeights},
      ModelKind{"vae_approx", {"vae_approx"}, kWeights},
  };
  return kKinds;
}

}  // namespace veneer::registry
