// Random files: whatever shapes a file's tensors have, loading and applying it ends in a weight of the right shape or in an Error.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "patch/kinds/file_kinds.h"
#include "patch/testing/patch_testing.h"

namespace veneer::patch {
namespace {

using namespace testing;  // NOLINT: test helpers of this room

class RandomFile {
 public:
  explicit RandomFile(uint32_t seed) : engine_(seed) {}

  // A layer with the tensors of one kind, most of them fitting, some not.
  AdapterTensors make() {
    const auto kinds = file_kinds();
    const FileKind& kind = kinds[pick(static_cast<uint32_t>(kinds.size()))];
    AdapterTensors file;
    for (const std::string_view suffix : kind.suffixes) {
      if (pick(8) != 0) file[std::string("layer").append(suffix)] = some_tensor();
    }
    if (pick(2) == 0) file["layer.alpha"] = pick(4) == 0 ? some_tensor() : scalar_tensor(static_cast<float>(pick(5)));
    if (pick(3) == 0) file["layer.dora_scale"] = some_tensor();
    if (pick(6) == 0) file["layer.reshape_weight"] = some_tensor();
    return file;
  }

  Shape some_shape() {
    static constexpr std::array<int64_t, 8> kExtents = {0, 1, 2, 2, 4, 4, 8, 8};
    std::array<int64_t, 5> dims{};
    const size_t rank = pick(3) == 0 ? pick(6) : 2 + pick(2) * 2;
    for (size_t i = 0; i < rank; ++i) dims[i] = kExtents[pick(8)];
    return Shape(std::span<const int64_t>(dims.data(), rank));
  }

 private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(engine_() % count); }
  Tensor some_tensor() { return random_tensor(some_shape(), pick(1000)); }
  std::mt19937 engine_;
};

TEST(AdapterFile, RandomShapesEndInAWeightOrAnError) {
  KeyMap map;
  map.add("layer", kKey);
  RandomFile random(11);
  int patched_count = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const AdapterTensors file = random.make();
    const Tensor base = random_tensor(random.some_shape(), 1);
    const PatchCompat compat = i % 2 == 0 ? PatchCompat::standard : PatchCompat::reference;
    try {
      AdapterReport report = load_adapter(file, map, {}, {compat});
      const PatchValuePtr value = report.patches[kKey];
      if (!value) continue;
      PatchRecord record = record_of(value, 0.5, i % 3 == 0 ? 0.5 : 1);
      if (i % 5 == 0) record.function = WeightFunction{"none", [](std::span<float>) {}};
      const std::vector<PatchRecord> records = {record};
      CalculateOptions options;
      options.compat = compat;
      options.working = i % 7 == 0 ? DType::f16 : DType::f32;
      const Tensor result = calculate_weight(base, records, kKey, options);
      EXPECT_TRUE(result.shape() == base.shape() || result.shape() == patched_shape(base.shape(), records));
      ++patched_count;
    } catch (const Error&) {
      ++refused;
    }
  }
  // Both outcomes have to be common, else the test looks at nothing.
  EXPECT_GT(patched_count, 500);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace veneer::patch
