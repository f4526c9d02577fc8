// BatchView: one batch whose rows are of different variants of one base.
//
// The base's product is computed once for all rows; low-rank patches run as side branches on the rows that have them, with an index of the variant
// per row. Modules that a variant has materialised (full differences, biases) run row group by row group.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "variant/loaded_variant.h"
#include "variant/model_patcher.h"
#include "variant/model_view.h"
#include "variant/side_branch.h"

namespace veneer::variant {

class BatchView final : public ModelView {
 public:
  // variant_of_row: for each row of the batches to come the index into `variants`. Throws Error(invalid) when an index is none, when the variants are
  // not of one base, compute dtype and transformer options, or when norms or embeddings differ between them (these have no rows).
  BatchView(std::span<const ModelPatcher> variants, std::vector<size_t> variant_of_row);

  const BaseModel& base() const override { return *variants_.front()->description().model; }
  DType compute_dtype() const override { return variants_.front()->description().compute_dtype; }
  // x: [rows, ...].
  Tensor linear(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) override;
  Tensor conv2d(compute::Context& context, ModuleId module, const compute::ConvInput& x, const compute::Epilogue& epilogue) override;
  NormWeights norm(ModuleId module) override;
  Tensor embedding(ModuleId module) override;
  const TransformerOptions& transformer_options() const override { return variants_.front()->description().extras->options.transformer_options; }

 private:
  // Rows [begin, begin + count) are of one variant.
  struct Segment {
    size_t variant = 0;
    int64_t begin = 0, count = 0;
  };

  template <typename Resident>
  Tensor forward(compute::Context& context, ModuleId module, const LayerInput& x, const compute::Epilogue& epilogue);

  std::vector<std::shared_ptr<LoadedVariant>> variants_;
  std::vector<Segment> segments_;
  int64_t rows_ = 0;
};

}  // namespace veneer::variant
