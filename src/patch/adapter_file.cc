#include "patch/adapter_file.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "formats/scaled_fp8.h"
#include "patch/kinds/file_kinds.h"

namespace veneer::patch {
namespace {

constexpr std::string_view kWeight = ".weight";
using NameSet = std::set<std::string, std::less<>>;

// Calls use(suffix) for every suffix that any kind reads.
template <typename Use>
void for_each_suffix(Use use) {
  for (const FileKind& kind : file_kinds()) std::for_each(kind.suffixes.begin(), kind.suffixes.end(), use);
  for (const std::string_view suffix : shared_suffixes()) use(suffix);
}

// The layer that a tensor belongs to: its name without the longest suffix that it ends with; the whole name if there is none.
std::string_view layer_of(std::string_view name) {
  size_t longest = 0;
  for_each_suffix([&](std::string_view suffix) {
    if (name.ends_with(suffix)) longest = std::max(longest, suffix.size());
  });
  return name.substr(0, name.size() - longest);
}

// Everything in front of a known suffix of some tensor. Looking only for these saves looking for every name of the map.
std::unordered_set<std::string_view> layers_in(const AdapterTensors& tensors) {
  std::unordered_set<std::string_view> layers;
  for (const auto& [name, tensor] : tensors) {
    const std::string_view view = name;
    for_each_suffix([&](std::string_view suffix) {
      if (view.ends_with(suffix)) layers.insert(view.substr(0, view.size() - suffix.size()));
    });
  }
  return layers;
}

class Loader {
 public:
  Loader(const AdapterTensors& tensors, const ShapeOf& shape_of, PatchCompat compat) : tensors_(tensors), shape_of_(shape_of), compat_(compat) {}

  void load_layer(const std::string& layer, const std::string& key) {
    bool found = false;
    for (const FileKind& kind : file_kinds()) {
      const bool bias = kind.target == FileKind::Target::bias;
      if (bias && !key.ends_with(kWeight)) continue;
      const std::string target = bias ? key.substr(0, key.size() - kWeight.size()).append(".bias") : key;
      // What a kind took counts as used only when it made something of it.
      NameSet taken;
      try {
        LayerTensors parts(tensors_, layer, compat_, taken);
        PatchValuePtr value = kind.parse(parts);
        if (!value) continue;
        found = true;
        used_.merge(taken);
        accept(layer, target, std::move(value));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::internal || error.code() == ErrorCode::no_memory) throw;
        const bool incomplete = !error.find("tensor").empty();
        if (compat_ == PatchCompat::reference && incomplete) throw;
        found = true;
        // A layer that lacks a factor is listed as unused; one whose factors do not fit is a mismatch.
        if (incomplete) continue;
        used_.merge(taken);
        report_.mismatched.push_back({layer, target, error.what(), "", ""});
      }
    }
    // The reference counts these as used even when no factor comes with them.
    if (!found && compat_ == PatchCompat::reference) {
      LayerTensors parts(tensors_, layer, compat_, used_);
      (void)parts.take(".alpha");
      (void)parts.take(".dora_scale");
    }
  }

  AdapterReport finish() {
    for (const auto& [key, layer] : sources_) report_.matched.push_back({layer.first, key, layer.second});
    NameSet layers;
    for (const auto& [name, tensor] : tensors_) {
      if (used_.contains(name)) continue;
      report_.unused_keys.push_back(name);
      layers.insert(std::string(layer_of(name)));
    }
    report_.unused_layers.assign(layers.begin(), layers.end());
    return std::move(report_);
  }

 private:
  void accept(const std::string& layer, const std::string& key, PatchValuePtr value) {
    if (shape_of_) {
      const std::optional<Shape> shape = shape_of_(key);
      if (!shape) {
        report_.missing_keys.push_back(key);
        return;
      }
      if (compat_ == PatchCompat::standard) {
        try {
          value->check(*shape);
        } catch (const Error& error) {
          report_.mismatched.push_back({layer, key, error.text(), std::string(error.find("want")), std::string(error.find("got"))});
          return;
        }
      }
    }
    const auto old = sources_.find(key);
    if (old != sources_.end()) report_.overridden.push_back({old->second.first, key, old->second.second});
    sources_[key] = {layer, value->kind()};
    report_.patches[key] = std::move(value);
  }

  const AdapterTensors& tensors_;
  const ShapeOf& shape_of_;
  PatchCompat compat_;
  NameSet used_;
  AdapterReport report_;
  std::map<std::string, std::pair<std::string, std::string_view>, std::less<>> sources_;
};

}  // namespace

AdapterTensors adapter_tensors(const formats::ModelFile& file) { return formats::tensors_with_scales(file); }

AdapterReport load_adapter(const AdapterTensors& tensors, const KeyMap& map, const ShapeOf& shape_of, const AdapterOptions& options) {
  const std::unordered_set<std::string_view> layers = layers_in(tensors);
  Loader loader(tensors, shape_of, options.compat);
  for (const auto& [layer, key] : map.entries()) {
    if (layers.contains(layer)) loader.load_layer(layer, key);
  }
  AdapterReport report = loader.finish();
  report.architecture = guess_architecture(tensors, {});
  return report;
}

AdapterReport load_adapter(const formats::ModelFile& file, const KeyMap& map, const ShapeOf& shape_of, const AdapterOptions& options) {
  const AdapterTensors tensors = adapter_tensors(file);
  AdapterReport report = load_adapter(tensors, map, shape_of, options);
  report.architecture = guess_architecture(tensors, file.metadata());
  return report;
}

Error no_match_error(std::string_view file_name, const AdapterReport& report, std::string_view model_architecture) {
  return Error(ErrorCode::invalid, "lora: no layer of the file matches the model",
               {{"file", std::string(file_name)},
                {"file architecture", report.architecture},
                {"model architecture", std::string(model_architecture)},
                {"unused layers", std::to_string(report.unused_layers.size())},
                {"mismatched layers", std::to_string(report.mismatched.size())}});
}

}  // namespace veneer::patch
