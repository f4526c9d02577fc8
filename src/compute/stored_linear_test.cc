#include "compute/stored_linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compute/test_data.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

double difference(const Tensor& a, const Tensor& b) {
  const Tensor x = to_dtype(a, DType::f32), y = to_dtype(b, DType::f32);
  double most = 0;
  for (size_t i = 0; i < x.floats().size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(x.floats()[i]) - static_cast<double>(y.floats()[i])));
  return most;
}

TEST(StoredLinear, ComputesWhatAPackedOneDoesWhateverItsWeightIsStoredAs) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Context context{.dtype = dtype};
    for (const auto& [out, in] : {std::pair<int64_t, int64_t>{16, 96}, {96, 16}, {7, 5}, {1, 3}}) {
      for (const DType source : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn}) {
        const Tensor weight = to_dtype(random_tensor({out, in}, 3), source);
        const auto stored = make_stored_linear(weight, dtype), packed = Linear::create(weight, Tensor(), dtype);
        for (const int64_t rows : {1, 6, 65}) {
          const Tensor x = to_dtype(random_tensor({1, rows, in}, 4), dtype), residual = to_dtype(random_tensor({1, rows, out}, 5), dtype);
          const double bound = dtype == DType::f32 ? 1e-5 : 0.05;
          EXPECT_LE(difference(stored->forward(context, x), packed->forward(context, x)), bound) << to_string(source) << " " << out << " " << rows;
          for (const Activation activation : {Activation::none, Activation::gelu}) {
            const Epilogue epilogue{activation, &residual};
            EXPECT_LE(difference(stored->forward(context, x, epilogue), packed->forward(context, x, epilogue)), bound) << to_string(source);
          }
        }
        EXPECT_EQ(stored->forward(context, Tensor::zeros({2, 0, in}, dtype)).shape(), Shape({2, 0, out}));
      }
    }
  }
}

TEST(StoredLinear, KeepsNothingBesideItsWeight) {
  Context context{.operations = make_operation_cache()};
  const Tensor weight = to_dtype(random_tensor({16, 96}, 3), DType::f16);
  const auto layer = make_stored_linear(weight, DType::f32);
  const Tensor x = random_tensor({32, 96}, 4), first = layer->forward(context, x);
  EXPECT_EQ(layer->size_bytes(), 0U);
  EXPECT_EQ(difference(layer->forward(context, x), first), 0) << "the same bits at every use";
}

TEST(StoredLinear, RefusesWhatDoesNotFit) {
  EXPECT_THROW(make_stored_linear(Tensor(), DType::f32), Error);
  EXPECT_THROW(make_stored_linear(Tensor::zeros({2, 3, 1, 1}, DType::f32), DType::f32), Error);
  EXPECT_THROW(make_stored_linear(Tensor::zeros({0, 3}, DType::f32), DType::f32), Error);
  Context context;
  const auto layer = make_stored_linear(random_tensor({4, 3}, 1), DType::f32);
  EXPECT_THROW(layer->forward(context, random_tensor({2, 4}, 1)), Error);
  const Tensor residual = random_tensor({2, 3}, 1);
  EXPECT_THROW(layer->forward(context, random_tensor({2, 3}, 1), {.residual = &residual}), Error);
  EXPECT_THROW(make_stored_linear(random_tensor({4, 3}, 1), DType::bf16)->forward(context, random_tensor({2, 3}, 1)), Error);
}

}  // namespace
}  // namespace veneer::compute
