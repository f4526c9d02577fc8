// BaseModel: an architecture's modules and the weights of one file. Immutable once built, shared by every variant of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fingerprint.h"
#include "compute/weights.h"
#include "tensor/tensor.h"
#include "variant/model_object.h"

namespace veneer::variant {

enum class ModuleKind : uint8_t {
  linear,     // weight [out, in], bias [out] optional
  conv2d,     // weight [out, in, kh, kw], bias [out] optional
  norm,       // weight [C], bias [C]; used in f32
  embedding,  // weight [rows, width] only; read by row in its stored dtype
};

// Index of a module in its base's list.
using ModuleId = uint32_t;

struct ModuleDef {
  std::string name;  // weight key is name + ".weight", bias key name + ".bias"
  ModuleKind kind = ModuleKind::linear;
  bool has_bias = true;
  compute::ConvGeometry geometry{};  // conv2d only
};

// Builds the list of modules while an architecture walks through its structure. Modules are in order of execution.
class ModuleTable {
 public:
  ModuleId add(ModuleDef def);
  const std::vector<ModuleDef>& modules() const { return modules_; }
  std::vector<ModuleDef> release() && { return std::move(modules_); }

 private:
  std::vector<ModuleDef> modules_;
};

class BaseModel {
 public:
  // `weights`: key -> tensor, keys as patches name them ("diffusion_model.input_blocks.0.0.weight"); tensors are views into a mapped file or own
  // their bytes. Every module's weight (and bias) has to be there: Error(corrupt) names the first missing key. Keys that no module uses stay
  // available.
  static std::shared_ptr<const BaseModel> create(std::string architecture, ModuleTable table, std::map<std::string, Tensor, std::less<>> weights,
                                                 std::string source_name, std::map<std::string, ModelObject> objects = {});

  // A base of its own with copies of every weight in memory.
  std::shared_ptr<const BaseModel> deep_copy() const;

  const std::string& architecture() const { return architecture_; }
  const std::string& source_name() const { return source_name_; }
  const std::vector<ModuleDef>& modules() const { return modules_; }
  const std::map<std::string, Tensor, std::less<>>& weights() const { return weights_; }
  bool has_key(std::string_view key) const { return weights_.contains(key); }
  // What is in the model's named slots ("model_sampling"), before any variant's object patches.
  const std::map<std::string, ModelObject>& objects() const { return objects_; }
  // Throws Error(not_found).
  const Tensor& weight(std::string_view key) const;
  // Identity of this object: differs between two bases even if their bytes are equal; constant for its life.
  const Fingerprint& identity() const { return identity_; }
  // Bytes of all weights as stored.
  size_t size_bytes() const { return size_bytes_; }
  // Of names, dtypes, shapes and bytes of all weights as they are in memory now. Reads every byte: equal before and after means that nothing wrote to
  // the base.
  Fingerprint content_fingerprint() const;

 private:
  BaseModel() = default;
  std::string architecture_;
  std::string source_name_;
  std::vector<ModuleDef> modules_;
  std::map<std::string, Tensor, std::less<>> weights_;
  std::map<std::string, ModelObject> objects_;
  Fingerprint identity_;
  size_t size_bytes_ = 0;
};

}  // namespace veneer::variant
