// Runs single nodes in tests: the demo model's folder, and empty folders of pictures that go away with the object.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute/block_cache.h"
#include "formats/testing/temp_directory.h"
#include "graph/node_registry.h"
#include "nodes/model_store.h"
#include "nodes/nodes.h"
#include "nodes/services.h"
#include "sampling/latent.h"

namespace veneer::nodes {

class NodeBench {
 public:
  using Values = std::vector<std::pair<std::string, graph::Value>>;

  explicit NodeBench(variant::LoraApplyMode apply_mode = variant::LoraApplyMode::automatic)
      : runtime(std::make_shared<const variant::Runtime>(
            variant::Runtime{.residents = std::make_shared<residency::ResidentSet>(), .pinned = {}, .apply_mode = apply_mode})),
        registry(all_nodes()) {
    for (const char* name : {"models/checkpoints", "models/loras", "models/vae", "models/embeddings", "input", "output", "temp"}) {
      std::filesystem::create_directories(root() / name);
    }
    folders = std::make_shared<ImageFolders>(ImageFolders{root() / "input", root() / "output", root() / "temp"});
    const std::vector<std::filesystem::path> roots = {root() / "models", demo()};
    store = std::make_shared<ModelStore>(std::make_shared<const registry::ModelFolders>(roots), runtime, DType::f32);
    environment.add(folders);
    environment.add(store);
    environment.add(std::make_shared<ComputeSettings>(ComputeSettings{.dtype = DType::f32, .scratch = *scratch}));
  }

  static std::filesystem::path demo() { return std::filesystem::path(VENEER_SOURCE_DIR) / "models/demo"; }
  std::filesystem::path root() const { return folder.path(); }

  // The values that one call gives; inputs that are not named have their defaults.
  std::vector<graph::Value> run(const std::string& class_type, const Values& inputs) {
    const graph::NodeDef& def = registry.at(class_type);
    graph::Inputs in;
    for (const graph::InputDef& input : def.inputs) {
      if (!input.default_value.is_null()) in.set(input.name, graph::Value::json(input.default_value));
    }
    for (const auto& [name, value] : inputs) in.set(name, value);
    graph::NodeContext context(environment);
    std::vector<graph::Value> out;
    for (const graph::Source& source : def.run(context, in).outputs) out.push_back(std::get<graph::Value>(source));
    return out;
  }

  // The latent of a small picture after two steps.
  Tensor draw(const graph::Value& model, const graph::Value& clip) {
    const auto json = [](auto value) { return graph::Value::json(graph::Json(value)); };
    const graph::Value positive = run("CLIPTextEncode", {{"clip", clip}, {"text", json("a yellow moon at night")}})[0];
    const graph::Value latent = run("EmptyLatentImage", {{"width", json(64)}, {"height", json(64)}})[0];
    return run("KSampler", {{"model", model},
                            {"positive", positive},
                            {"negative", positive},
                            {"latent_image", latent},
                            {"steps", json(2)},
                            {"sampler_name", json("euler")},
                            {"scheduler", json("normal")}})[0]
        .get<sampling::Latent>()
        .samples;
  }

  // The error that the call ends in; fails the test's expectation by Error(internal) "no error" when there is none.
  Error error_of(const std::string& class_type, const Values& inputs) {
    try {
      run(class_type, inputs);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "no error");
  }

  formats::TempDirectory folder;
  std::shared_ptr<compute::BlockCache> scratch = std::make_shared<compute::BlockCache>();
  std::shared_ptr<const variant::Runtime> runtime;
  std::shared_ptr<ImageFolders> folders;
  std::shared_ptr<ModelStore> store;
  graph::NodeRegistry registry;
  graph::Environment environment;
};

inline graph::Value text(std::string value) { return graph::Value::json(graph::Json(std::move(value))); }

}  // namespace veneer::nodes
