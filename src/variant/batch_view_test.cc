#include "variant/batch_view.h"

#include <gtest/gtest.h>

#include "compute/test_data.h"
#include "patch/adapter_file.h"
#include "patch/key_map.h"
#include "patch/kinds/file_kinds.h"
#include "patch/kinds/values.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

using compute::random_tensor;

patch::PatchValuePtr low_rank(const Shape& up, const Shape& down, uint32_t seed) {
  const patch::AdapterTensors file{{"l.lora_up.weight", random_tensor(up, seed, 0.3F)}, {"l.lora_down.weight", random_tensor(down, seed + 1, 0.3F)}};
  std::set<std::string, std::less<>> used;
  patch::LayerTensors layer(file, "l", patch::PatchCompat::standard, used);
  return patch::parse_lora(layer);
}

// A linear layer 6 -> 5 and a 3x3 convolution 3 -> 4.
class BatchViewTest : public ::testing::Test {
 protected:
  BatchViewTest() {
    ModuleTable table;
    linear_ = table.add({.name = "a", .kind = ModuleKind::linear, .has_bias = true});
    conv_ = table.add({.name = "c", .kind = ModuleKind::conv2d, .has_bias = true, .geometry = compute::ConvGeometry::same3x3()});
    norm_ = table.add({.name = "n", .kind = ModuleKind::norm, .has_bias = true});
    std::map<std::string, Tensor, std::less<>> weights;
    weights["a.weight"] = random_tensor({5, 6}, 1);
    weights["a.bias"] = random_tensor({5}, 2);
    weights["c.weight"] = random_tensor({4, 3, 3, 3}, 3);
    weights["c.bias"] = random_tensor({4}, 4);
    weights["n.weight"] = random_tensor({4}, 5);
    weights["n.bias"] = random_tensor({4}, 6);
    base_ = BaseModel::create("toy", std::move(table), std::move(weights), "toy");
    for (uint32_t i = 0; i < 3; ++i) variants_.emplace_back(base_, runtime(), DType::f32);
    variants_[1].add_patches({{"a.weight", low_rank({5, 2}, {2, 6}, 10)}, {"c.weight", low_rank({4, 2, 1, 1}, {2, 3, 3, 3}, 12)}}, 0.7);
    variants_[2].add_patches({{"a.weight", low_rank({5, 3}, {3, 6}, 20)}}, -1.5);
  }

  std::shared_ptr<const Runtime> runtime() const {
    Runtime out;
    out.residents = residents_;
    out.apply_mode = LoraApplyMode::branch;
    return std::make_shared<const Runtime>(out);
  }

  // Each row through the view of its own variant.
  template <typename Run>
  void expect_rows_as_alone(const Tensor& batch, const Tensor& x, const std::vector<size_t>& index, const Run& run) {
    for (size_t row = 0; row < index.size(); ++row) {
      const auto view = variants_[index[row]].open_view();
      const Tensor alone = run(*view, x.slice(static_cast<int64_t>(row), 1), static_cast<int64_t>(row));
      const Tensor got = batch.slice(static_cast<int64_t>(row), 1);
      ASSERT_EQ(got.shape(), alone.shape());
      for (size_t i = 0; i < alone.floats().size(); ++i) EXPECT_NEAR(got.floats()[i], alone.floats()[i], 1e-6F) << "row " << row;
    }
  }

  std::shared_ptr<residency::ResidentSet> residents_ = std::make_shared<residency::ResidentSet>();
  std::shared_ptr<const BaseModel> base_;
  std::vector<ModelPatcher> variants_;
  ModuleId linear_ = 0, conv_ = 0, norm_ = 0;
  compute::Context context_;
};

TEST_F(BatchViewTest, RowsOfALinearLayerAreThoseOfTheirVariants) {
  const std::vector<size_t> index{0, 1, 1, 2, 0};
  const Tensor x = random_tensor({5, 7, 6}, 30);
  const Tensor residual = random_tensor({5, 7, 5}, 31);
  BatchView view(variants_, index);
  for (const auto activation : {compute::Activation::none, compute::Activation::silu, compute::Activation::quick_gelu, compute::Activation::gelu}) {
    for (const bool with_residual : {false, true}) {
      const Tensor batch = view.linear(context_, linear_, x, {activation, with_residual ? &residual : nullptr});
      expect_rows_as_alone(batch, x, index, [&](ModelView& alone, const Tensor& row, int64_t at) {
        const Tensor own = residual.slice(at, 1);
        return alone.linear(context_, linear_, row, {activation, with_residual ? &own : nullptr});
      });
    }
  }
}

TEST_F(BatchViewTest, RowsOfAConvolutionAreThoseOfTheirVariants) {
  const std::vector<size_t> index{1, 0, 2};
  const Tensor x = random_tensor({3, 5, 4, 3}, 40);
  BatchView view(variants_, index);
  const Tensor batch = view.conv2d(context_, conv_, x, {});
  expect_rows_as_alone(batch, x, index, [&](ModelView& alone, const Tensor& row, int64_t) { return alone.conv2d(context_, conv_, row, {}); });
}

TEST_F(BatchViewTest, ModulesThatAreMaterialisedRunGroupByGroup) {
  variants_[2].add_patches({{"a.bias", patch::make_diff(random_tensor({5}, 50))}});
  const std::vector<size_t> index{2, 1, 0};
  const Tensor x = random_tensor({3, 6}, 51);
  BatchView view(variants_, index);
  const Tensor batch = view.linear(context_, linear_, x, {});
  expect_rows_as_alone(batch, x, index, [&](ModelView& alone, const Tensor& row, int64_t) { return alone.linear(context_, linear_, row, {}); });
}

TEST_F(BatchViewTest, TheBaseIsPackedOnce) {
  BatchView view(variants_, {0, 1, 2});
  (void)view.linear(context_, linear_, random_tensor({3, 6}, 60), {});
  size_t layers = 0;
  for (const auto& entry : residents_->account()) layers += entry.owner != "adapter" ? 1 : 0;
  EXPECT_EQ(layers, 1U);
}

TEST_F(BatchViewTest, RefusesWhatHasNoRows) {
  EXPECT_THROW(BatchView(variants_, {0, 3}), Error);
  EXPECT_THROW(BatchView(variants_, {}), Error);
  BatchView view(variants_, {0, 1});
  EXPECT_THROW((void)view.linear(context_, linear_, random_tensor({3, 6}, 1), {}), Error);
  variants_[1].add_patches({{"n.weight", patch::make_diff(random_tensor({4}, 2))}});
  EXPECT_THROW(BatchView(variants_, {0, 1}), Error);
  const ModelPatcher other = variants_[0].clone({.force_deepcopy = true});
  EXPECT_THROW(BatchView(std::vector<ModelPatcher>{variants_[0], other}, {0, 1}), Error);
}

}  // namespace
}  // namespace veneer::variant
