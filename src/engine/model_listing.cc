#include "engine/model_listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "formats/model_file.h"
#include "formats/shard_index.h"
#include "nodes/model_store.h"

namespace veneer::engine {
namespace {

constexpr std::array<std::string_view, 20> kOrder = {
    "checkpoints",  "configs",       "loras",      "vae",         "text_encoders", "diffusion_models", "clip_vision",
    "style_models", "embeddings",    "diffusers",  "vae_approx",  "controlnet",    "gligen",           "upscale_models",
    "custom_nodes", "hypernetworks", "photomaker", "classifiers", "model_patches", "audio_encoders"};

double seconds(const timespec& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9; }

}  // namespace

std::vector<std::string> ModelListing::kinds() const {
  std::vector<std::string> kinds = core_.models().folders().kinds();
  const auto rank = [](const std::string& kind) { return std::find(kOrder.begin(), kOrder.end(), kind) - kOrder.begin(); };
  std::stable_sort(kinds.begin(), kinds.end(), [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return kinds;
}

bool ModelListing::has(const std::string& kind) const {
  const std::vector<std::string> kinds = core_.models().folders().kinds();
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::vector<std::string> ModelListing::list(const std::string& kind) const { return core_.models().names(kind); }

std::vector<std::filesystem::path> ModelListing::folders(const std::string& kind) const {
  std::vector<std::filesystem::path> out;
  for (const auto& folder : core_.models().folders().folders(kind)) out.push_back(std::filesystem::absolute(folder).lexically_normal());
  return out;
}

std::vector<std::filesystem::path> ModelListing::folders_as_given(const std::string& kind) const { return core_.models().folders().folders(kind); }

// With the shards of an index, where they are.
uint64_t ModelListing::size_of(const std::filesystem::path& file, uint64_t own) const {
  try {
    const registry::ModelFolders& models = core_.models().folders();
    return formats::is_index_name(file.filename().string()) ? registry::size_of_all(models.files(file)) : own;
  } catch (const Error&) {
    return own;
  }
}

std::vector<ModelFileInfo> ModelListing::files(const std::string& kind) const {
  const std::vector<std::filesystem::path> places = folders(kind);
  std::vector<ModelFileInfo> out;
  for (const std::string& name : list(kind)) {
    for (size_t i = 0; i < places.size(); ++i) {
      struct stat info {};
      if (::stat((places[i] / name).c_str(), &info) != 0) continue;
      out.push_back({name, i, size_of(places[i] / name, static_cast<uint64_t>(info.st_size)), seconds(info.st_mtim), seconds(info.st_ctim)});
      break;
    }
  }
  return out;
}

std::optional<std::filesystem::path> ModelListing::find(const std::string& kind, const std::string& name) const {
  try {
    return core_.models().folders().find(kind, name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<graph::Json> ModelListing::metadata(const std::string& kind, const std::string& name) const {
  const std::optional<std::filesystem::path> file = find(kind, name);
  if (!file || file->extension() != ".safetensors") return std::nullopt;
  try {
    const formats::ModelFile opened = formats::ModelFile::open(*file);
    if (opened.metadata().empty()) return std::nullopt;
    graph::Json json = graph::Json::object();
    for (const auto& [key, value] : opened.metadata()) json[key] = value;
    return json;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace veneer::engine
