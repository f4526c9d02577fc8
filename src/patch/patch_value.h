// PatchValue: what an adapter holds for one weight, of one kind (a low-rank product, a full difference, a rotation, ...). Immutable and shared.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "patch/row_adder.h"
#include "tensor/tensor.h"

namespace veneer::patch {

class WorkingWeight;

// A named function on the difference that a patch adds, applied in place. Two functions with the same id must compute the same.
struct WeightFunction {
  std::string id;
  std::function<void(std::span<float>)> apply;
};

// Where a value was read, for errors and reports. No part of its content.
struct PatchOrigin {
  std::string file;                                     // the adapter's, as it was opened
  std::string layer;                                    // as the file names it
  std::vector<std::pair<std::string, Tensor>> tensors;  // those of the layer that the value was made of, by their names in the file
};

// A difference in factored form: scale * up @ down, to run as a branch beside the weight.
struct LowRank {
  Tensor up;         // [out, rank], dtype as in the file
  Tensor down;       // [rank, in] or [rank, in, kh, kw]
  double scale = 1;  // alpha / rank
};

class PatchValue;
using PatchValuePtr = std::shared_ptr<const PatchValue>;

// All const members may be called from several threads at once.
class PatchValue {
 public:
  virtual ~PatchValue() = default;
  PatchValue(const PatchValue&) = delete;
  PatchValue& operator=(const PatchValue&) = delete;

  // "lora", "loha", "diff", ...
  std::string_view kind() const { return kind_; }
  // Of kind and content: values made from equal tensors and numbers are equal. Reads all tensors at its first call, unless the value was made with an
  // identity that stands for their bytes.
  const Fingerprint& fingerprint() const;
  // Whether that call was made.
  bool has_fingerprint() const { return has_fingerprint_.load(std::memory_order_relaxed); }
  // Bytes of all tensors as stored.
  size_t size_bytes() const;
  // Null for values that come from no file.
  const PatchOrigin* origin() const { return origin_.get(); }
  // To be called by the one who made the value, before it is shared.
  void set_origin(std::shared_ptr<const PatchOrigin> origin) { origin_ = std::move(origin); }

  // Throws Error(invalid) with "want" (the weight's shape) and "got" unless the value fits a weight of this shape.
  virtual void check(const Shape& weight) const = 0;
  // Why the reference implementation fails on the value and leaves a weight as it is, although it fits; "" when it does not.
  virtual std::string_view reference_fault() const { return {}; }
  // The shape that a weight has afterwards: another one only for kinds that grow a weight.
  virtual Shape shape_after(const Shape& weight) const { return weight; }
  // Applies the value with `strength`; `function` may be null. check() has passed. Throws Error without having changed the weight.
  virtual void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const = 0;
  // For a weight of this shape, to patch it in one pass; null for kinds that need the whole weight, or when the shape does not fit.
  virtual std::unique_ptr<RowAdder> row_adder(const Shape& weight, double strength) const;
  // How much of a whole weight the value brings at strength 1: 0 for a difference, 1 for another model's weight (a merge).
  virtual double weight_share() const { return 0; }
  // How many values lie inside of each other in this one.
  virtual int nesting_depth() const { return 0; }
  // The factors, when the whole effect is one low-rank product.
  virtual std::optional<LowRank> low_rank() const { return std::nullopt; }

 protected:
  // Tensors (undefined ones stand for absent) and numbers that make up the content, in an order fixed by the kind.
  // `identity`: stands for the tensors' bytes in the fingerprint. Two values with the same one must have equal bytes.
  PatchValue(std::string_view kind, std::initializer_list<Tensor> tensors, std::initializer_list<double> numbers = {},
             std::optional<Fingerprint> identity = {});
  // Adds what else belongs to the content.
  virtual void describe(FingerprintBuilder& builder) const;

 private:
  std::string_view kind_;
  std::vector<Tensor> tensors_;
  std::vector<double> numbers_;
  std::optional<Fingerprint> identity_;
  std::shared_ptr<const PatchOrigin> origin_;
  mutable std::once_flag once_;
  mutable std::atomic<bool> has_fingerprint_ = false;
  mutable Fingerprint fingerprint_;
};

}  // namespace veneer::patch
