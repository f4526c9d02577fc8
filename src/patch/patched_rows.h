// A patched weight, a tile at a time: what stream_weight writes to memory, and what a layer's packer can read without a whole f32 copy between.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/row_source.h"
#include "patch/calculate_weight.h"
#include "patch/row_steps.h"
#include "veneer/error.h"

namespace veneer::patch {

// Holds the base and the records' tensors. Thread-safe.
class PatchedRows final : public compute::RowSource {
 public:
  // The tiles have the bits that calculate_weight gives. nullopt when the records need its general way: an offset, a function, a kind that has no
  // RowAdder, another shape, or half-precision arithmetic. `stored`: the dtype that values have to be finite in. Throws as calculate_weight does.
  static std::optional<PatchedRows> make(const Tensor& base, std::span<const PatchRecord> records, DType stored, std::string_view key,
                                         const CalculateOptions& options);

  const Shape& shape() const override { return base_.shape(); }
  // Throws Error(corrupt) naming the key and the adapter's tensor when a finite base became infinite or NaN.
  void tile(const Tile& tile, const TileValues& out) const override;

 private:
  PatchedRows(Tensor base, std::span<const PatchRecord> records, RowSteps steps, DType stored, std::string_view key, const CalculateOptions& options);
  void make_piece(const Tile& piece, const TileValues& out) const;

  Tensor base_;
  std::vector<PatchRecord> records_;  // for the error that says which of them is at fault
  RowSteps steps_;
  DType stored_;
  std::string key_;
  float base_scale_;
  bool check_;
  // Found once, whichever thread meets it first: it takes a whole weight to find.
  struct Blame {
    std::mutex mutex;
    std::optional<Error> error;
  };
  std::shared_ptr<Blame> blame_ = std::make_shared<Blame>();
};

}  // namespace veneer::patch
