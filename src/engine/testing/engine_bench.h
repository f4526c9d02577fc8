// An engine on the demo model and on a model folder of a test's own.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/model_file.h"
#include "formats/safetensors.h"
#include "formats/testing/temp_directory.h"
#include "veneer/engine.h"

namespace veneer::engine {

inline constexpr const char* kDemoModel = "shapes-sd-tiny.safetensors";

class EngineBench {
 public:
  using Tensors = std::vector<std::pair<std::string, Tensor>>;

  EngineBench() {
    for (const char* name : {"checkpoints", "loras"}) std::filesystem::create_directories(root() / name);
    options.model_folders = {root().string(), demo().string()};
    options.output_folder = (root() / "output").string();
    options.dtype = "f32";
  }

  static std::filesystem::path demo() { return std::filesystem::path(VENEER_SOURCE_DIR) / "models/demo"; }
  const std::filesystem::path& root() const { return folder.path(); }
  std::filesystem::path checkpoint(const std::string& name) const { return root() / "checkpoints" / name; }

  Engine engine() const { return Engine(options); }

  void write_lora(const std::string& name, const Tensors& tensors) const { formats::write_safetensors(root() / "loras" / name, tensors); }
  static void add_layer(Tensors& tensors, const std::string& name, int64_t out, int64_t in) {
    tensors.emplace_back(name + ".lora_up.weight", Tensor::zeros({out, 4}, DType::f32));
    tensors.emplace_back(name + ".lora_down.weight", Tensor::zeros({4, in}, DType::f32));
  }
  // The tensors of the demo model.
  static Tensors demo_tensors() {
    const auto file = formats::ModelFile::open(demo() / "checkpoints" / kDemoModel);
    Tensors out;
    for (const auto& entry : file.entries()) out.emplace_back(entry.name, file.tensor(entry.name));
    return out;
  }

  formats::TempDirectory folder;
  EngineOptions options;
};

// The error that a call ends in; Error(internal) "no error" when there is none.
template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "no error");
}

}  // namespace veneer::engine
