#include "compute/transpose_units.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cstring>

#include "compute/test_data.h"
#include "tensor/convert.h"

namespace veneer::compute {
namespace {

// Runs the body once for each instruction set of this machine.
template <typename Body>
void on_every_target(const Body& body) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(TransposeUnits, PutsRowsBesideEachOtherAndTouchesNothingElse) {
  constexpr size_t kRows = 48, kColumns = 20, kFromStride = 23, kToStride = 64;
  const Tensor from = random_tensor({kRows, kFromStride}, 1);
  on_every_target([&](const char* target) {
    Tensor to = Tensor::empty({kColumns, kToStride}, DType::f32);
    for (float& value : to.mutable_floats()) value = -7;
    transpose_units(from.data<float>(), kFromStride, kRows, kColumns, to.mutable_data<float>(), kToStride);
    for (size_t c = 0; c < kColumns; ++c) {
      for (size_t r = 0; r < kToStride; ++r) {
        const float want = r < kRows ? from.floats()[r * kFromStride + c] : -7;
        ASSERT_EQ(to.floats()[c * kToStride + r], want) << target << " " << c << " " << r;
      }
    }
  });
}

TEST(TransposeUnits, NarrowsRowsToTheBitsOfConversion) {
  const Tensor from = random_tensor({3, 29}, 2), want = to_dtype(from, DType::bf16);
  on_every_target([&](const char* target) {
    Tensor to = Tensor::zeros({3, 21}, DType::bf16);
    narrow_rows(from.data<float>(), 29, 3, 21, reinterpret_cast<uint16_t*>(to.mutable_bytes()));
    for (size_t row = 0; row < 3; ++row) EXPECT_EQ(std::memcmp(to.bytes() + row * 42, want.bytes() + row * 58, 42), 0) << target << " " << row;
  });
}

}  // namespace
}  // namespace veneer::compute
