#include "patch/adapter_file.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "formats/scaled_fp8.h"
#include "patch/kinds/file_kinds.h"
#include "patch/working_weight.h"

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

// What is broken, without the shapes that are reported beside it.
std::string reason_of(const Error& error) {
  std::string reason = error.text();
  for (const auto& [name, value] : error.context()) {
    if (name != "want" && name != "got" && name != "file" && name != "tensor") reason.append("; ").append(name).append(": ").append(value);
  }
  return reason;
}

// Why the reference leaves a weight of this shape as it is, or nothing. Where the two ways differ it is tried on zeros.
std::optional<Error> fault_in_reference(const PatchValue& value, const Shape& shape) {
  if (!value.reference_fault().empty()) return Error(ErrorCode::unsupported, std::string(value.reference_fault()));
  try {
    value.check(shape);
    return std::nullopt;
  } catch (const Error&) {
  }
  try {
    WorkingWeight weight(Tensor::zeros(shape, DType::f32), DType::f32, PatchCompat::reference, false);
    value.apply(weight, 1, nullptr);
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal || error.code() == ErrorCode::no_memory) throw;
    return error;
  }
}

class Loader {
 public:
  Loader(const AdapterTensors& tensors, const ShapeOf& shape_of, const AdapterOptions& options)
      : tensors_(tensors), shape_of_(shape_of), compat_(options.compat), file_name_(options.file_name) {}

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
        const std::shared_ptr<PatchValue> value = kind.parse(parts);
        if (!value) continue;
        found = true;
        value->set_origin(origin_of(layer, taken));
        used_.merge(taken);
        accept(layer, target, value);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::internal || error.code() == ErrorCode::no_memory) throw;
        const bool incomplete = !error.find("tensor").empty();
        if (compat_ == PatchCompat::reference && incomplete) throw file_name_.empty() ? error : error.with("file", file_name_);
        found = true;
        // A layer that lacks a factor is listed as unused; one whose factors do not fit is a mismatch.
        if (incomplete) continue;
        take_all(kind, layer, taken);
        report_.mismatched.push_back(mismatch_of(error, target, *origin_of(layer, taken)));
        used_.merge(taken);
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
    for (const auto& [key, layer] : sources_) {
      const bool without_effect = std::ranges::find(report_.left_out, key, &AdapterReport::Mismatch::key) != report_.left_out.end();
      if (!without_effect) report_.matched.push_back({layer.first, key, layer.second});
    }
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
  // Whatever of the layer the kind could read, also what it did not come to.
  void take_all(const FileKind& kind, const std::string& layer, NameSet& taken) const {
    LayerTensors parts(tensors_, layer, compat_, taken);
    for (const std::string_view suffix : kind.suffixes) (void)parts.take(suffix);
    for (const std::string_view suffix : shared_suffixes()) (void)parts.take(suffix);
  }

  std::shared_ptr<const PatchOrigin> origin_of(const std::string& layer, const NameSet& taken) const {
    auto origin = std::make_shared<PatchOrigin>();
    origin->file = file_name_;
    origin->layer = layer;
    for (const std::string& name : taken) origin->tensors.emplace_back(name, tensors_.find(name)->second);
    return origin;
  }

  static AdapterReport::Mismatch mismatch_of(const Error& error, const std::string& key, const PatchOrigin& origin) {
    AdapterReport::Mismatch out{origin.layer, key, reason_of(error), std::string(error.find("want")), std::string(error.find("got")), {}};
    for (const auto& [name, tensor] : origin.tensors) {
      out.tensors += (out.tensors.empty() ? "" : ", ") + name + " " + tensor.shape().to_string();
    }
    return out;
  }

  // False when the value stays away; what does not fit in the reference stays and is noted.
  bool fits(const std::string& key, const Shape& shape, const PatchValue& value) {
    try {
      const Shape grown = value.shape_after(shape);
      if (grown != shape) check_padding(shape, grown);
      if (compat_ == PatchCompat::standard) {
        value.check(shape);
        return true;
      }
    } catch (const Error& error) {
      if (compat_ == PatchCompat::standard || !error.find("limit").empty()) {
        report_.mismatched.push_back(mismatch_of(error, key, *value.origin()));
        return false;
      }
    }
    std::erase_if(report_.left_out, [&](const AdapterReport::Mismatch& earlier) { return earlier.key == key; });
    if (const std::optional<Error> fault = fault_in_reference(value, shape)) report_.left_out.push_back(mismatch_of(*fault, key, *value.origin()));
    return true;
  }

  void accept(const std::string& layer, const std::string& key, const std::shared_ptr<PatchValue>& value) {
    if (shape_of_) {
      const std::optional<Shape> shape = shape_of_(key);
      if (!shape) {
        report_.missing_keys.push_back(key);
        return;
      }
      if (!fits(key, *shape, *value)) return;
    }
    const auto old = sources_.find(key);
    if (old != sources_.end()) report_.overridden.push_back({old->second.first, key, old->second.second});
    sources_[key] = {layer, value->kind()};
    report_.patches[key] = value;
  }

  const AdapterTensors& tensors_;
  const ShapeOf& shape_of_;
  PatchCompat compat_;
  const std::string& file_name_;
  NameSet used_;
  AdapterReport report_;
  std::map<std::string, std::pair<std::string, std::string_view>, std::less<>> sources_;
};

}  // namespace

AdapterTensors adapter_tensors(const formats::ModelFile& file) { return formats::tensors_with_scales(file); }

AdapterReport load_adapter(const AdapterTensors& tensors, const KeyMap& map, const ShapeOf& shape_of, const AdapterOptions& options) {
  const std::unordered_set<std::string_view> layers = layers_in(tensors);
  const bool from_peft =
      options.compat == PatchCompat::standard && std::ranges::any_of(layers, [](std::string_view layer) { return layer.starts_with(kPeftPrefix); });
  Loader loader(tensors, shape_of, options);
  for (const auto& [layer, key] : map.entries()) {
    if (layers.contains(layer)) loader.load_layer(layer, key);
    if (!from_peft) continue;
    const std::string whole = std::string(kPeftPrefix).append(layer);
    if (layers.contains(whole)) loader.load_layer(whole, key);
  }
  AdapterReport report = loader.finish();
  report.architecture = guess_architecture(tensors, {});
  return report;
}

AdapterReport load_adapter(const formats::ModelFile& file, const KeyMap& map, const ShapeOf& shape_of, const AdapterOptions& options) {
  const AdapterTensors tensors = adapter_tensors(file);
  AdapterOptions named = options;
  if (named.file_name.empty()) named.file_name = file.name();
  AdapterReport report = load_adapter(tensors, map, shape_of, named);
  report.architecture = guess_architecture(tensors, file.metadata());
  return report;
}

Error no_match_error(std::string_view file_name, const AdapterReport& report, std::string_view model_architecture) {
  Error::Context context = {{"file", std::string(file_name)},
                            {"file architecture", report.architecture},
                            {"model architecture", std::string(model_architecture)},
                            {"unused layers", std::to_string(report.unused_layers.size())},
                            {"mismatched layers", std::to_string(report.mismatched.size())}};
  // The first of what is wrong; what is empty is not shown.
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) context.emplace_back(name, value);
  };
  if (!report.mismatched.empty()) {
    const AdapterReport::Mismatch& first = report.mismatched.front();
    add("tensor", first.tensors);
    add("key", first.key);
    add("rule", first.reason);
    add("want", first.want);
    add("got", first.got);
  } else {
    if (!report.unused_keys.empty()) add("tensor", report.unused_keys.front());
    add("rule", report.unused_keys.empty() ? "the file holds no tensor"
                                           : "the name is that of a layer of the model, and all of the layer's factors are there");
    add("allowed", "layers named as kohya, LyCORIS, diffusers or PEFT name them, or as the checkpoint does");
  }
  return Error(ErrorCode::invalid, "lora: no layer of the file matches the model", std::move(context));
}

}  // namespace veneer::patch
