#include "variant/base_model.h"

#include <atomic>

#include "veneer/error.h"

namespace veneer::variant {
namespace {

// Identities are never reused within a process, so an entry of a dropped base cannot be mistaken for one of a later base.
Fingerprint next_identity(std::string_view source_name) {
  static std::atomic<uint64_t> counter{0};
  return FingerprintBuilder().add("base").add(source_name).add(counter.fetch_add(1)).finish();
}

void require(const std::map<std::string, Tensor, std::less<>>& weights, const std::string& key, const std::string& source_name) {
  if (!weights.contains(key)) throw Error(ErrorCode::corrupt, "model: a tensor is missing", {{"file", source_name}, {"tensor", key}});
}

}  // namespace

ModuleId ModuleTable::add(ModuleDef def) {
  modules_.push_back(std::move(def));
  return static_cast<ModuleId>(modules_.size() - 1);
}

std::shared_ptr<const BaseModel> BaseModel::create(std::string architecture, ModuleTable table, std::map<std::string, Tensor, std::less<>> weights,
                                                   std::string source_name, std::map<std::string, ModelObject> objects) {
  const std::shared_ptr<BaseModel> model(new BaseModel());
  model->modules_ = std::move(table).release();
  for (const ModuleDef& module : model->modules_) {
    require(weights, module.name + ".weight", source_name);
    if (module.has_bias) require(weights, module.name + ".bias", source_name);
  }
  model->architecture_ = std::move(architecture);
  model->identity_ = next_identity(source_name);
  model->source_name_ = std::move(source_name);
  model->weights_ = std::move(weights);
  model->objects_ = std::move(objects);
  for (const auto& [key, tensor] : model->weights_) model->size_bytes_ += tensor.size_bytes();
  return model;
}

std::shared_ptr<const BaseModel> BaseModel::deep_copy() const {
  ModuleTable table;
  for (const ModuleDef& module : modules_) table.add(module);
  std::map<std::string, Tensor, std::less<>> copies;
  for (const auto& [key, tensor] : weights_) {
    copies.emplace(key, tensor.clone());
  }
  return create(architecture_, std::move(table), std::move(copies), source_name_, objects_);
}

Fingerprint BaseModel::content_fingerprint() const {
  FingerprintBuilder builder;
  for (const auto& [key, tensor] : weights_) {
    builder.add(key).add(tensor.dtype()).add(tensor.rank());
    if (tensor.scale() != 1) builder.add("scale").add(static_cast<double>(tensor.scale()));
    for (int i = 0; i < tensor.rank(); ++i) builder.add(tensor.dim(i));
    builder.add_bytes({static_cast<const std::byte*>(tensor.bytes()), tensor.size_bytes()});
  }
  return builder.finish();
}

const Tensor& BaseModel::weight(std::string_view key) const {
  const auto it = weights_.find(key);
  if (it == weights_.end()) throw Error(ErrorCode::not_found, "model: no such weight", {{"file", source_name_}, {"key", std::string(key)}});
  return it->second;
}

}  // namespace veneer::variant
