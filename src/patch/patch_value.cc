#include "patch/patch_value.h"

namespace veneer::patch {

PatchValue::PatchValue(std::string_view kind, std::initializer_list<Tensor> tensors, std::initializer_list<double> numbers,
                       std::optional<Fingerprint> identity)
    : kind_(kind), tensors_(tensors), numbers_(numbers), identity_(identity) {}

std::unique_ptr<RowAdder> PatchValue::row_adder(const Shape&, double) const { return nullptr; }

void PatchValue::describe(FingerprintBuilder&) const {}

const Fingerprint& PatchValue::fingerprint() const {
  std::call_once(once_, [this] {
    FingerprintBuilder builder;
    builder.add(kind_).add(identity_.has_value());
    if (identity_) builder.add(*identity_);
    for (const Tensor& tensor : tensors_) {
      builder.add(tensor.defined());
      if (!tensor.defined()) continue;
      builder.add(tensor.dtype()).add(tensor.rank());
      if (tensor.scale() != 1) builder.add(static_cast<double>(tensor.scale()));
      for (const int64_t extent : tensor.shape().dims()) builder.add(extent);
      if (!identity_) builder.add_bytes(tensor.byte_span());
    }
    for (const double number : numbers_) builder.add(number);
    describe(builder);
    fingerprint_ = builder.finish();
    has_fingerprint_ = true;
  });
  return fingerprint_;
}

size_t PatchValue::size_bytes() const {
  size_t size = 0;
  for (const Tensor& tensor : tensors_) size += tensor.defined() ? tensor.size_bytes() : 0;
  return size;
}

}  // namespace veneer::patch
