// What a model file is, by its header alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace veneer::registry {

struct TensorFact {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
};

// A header, whatever the format.
struct HeaderFacts {
  std::string format;
  std::vector<TensorFact> tensors;  // sorted by name
  std::map<std::string, std::string> metadata;
  uint64_t size_bytes = 0;  // of the file, or its shards
};

struct ModelFacts {
  std::string type;    // "checkpoint", "diffusion_model", "lora", "vae", "text_encoder", "controlnet", "embedding", "upscaler", ..., or ""
  std::string family;  // "sd1", "sd2", "sdxl", "sdxl_refiner", "sd3", "flux", ..., or ""; of an adapter the family it is for
  std::string title;   // for people: "Stable Diffusion XL (base)"
  std::string detail;  // more of it: the kind of a LoRA, "inpainting", "v-prediction", "16 latent channels"; or ""
  std::string format;
  std::map<std::string, size_t> dtypes;  // dtype -> tensors
  size_t num_tensors = 0;
  uint64_t num_parameters = 0;  // elements of all tensors
  uint64_t size_bytes = 0;
  // Of the text encoders in a file the widths of their tokens' vectors; of an embedding those of its own.
  std::set<int64_t> text_widths;
  std::map<std::string, std::string> metadata;
};

// Opens the file and reads its header; no tensor's bytes. Throws what formats::ModelFile does.
HeaderFacts read_header(const std::filesystem::path& path);

// Never throws: what matches no definition has an empty type. The definitions are a list in model_definitions.cc.
ModelFacts recognise(HeaderFacts header);

}  // namespace veneer::registry
