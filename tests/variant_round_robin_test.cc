// Many adapters on one base, more than fit in memory at once, visited in turn.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>

#include "support/random_adapters.h"
#include "support/tiny_model.h"

namespace veneer::testing {
namespace {

using residency::ResidentSet;
using variant::LoraApplyMode;
using variant::ModelPatcher;
using variant::ResidencyMode;

constexpr size_t kAdapters = 12, kRoomFor = 3;

bool attention(std::string_view key) { return key.find("attn") != std::string_view::npos; }

// Bytes that the program has from malloc; 0 under sanitizers, which bring their own.
size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Pass {
  std::vector<Tensor> latents;
  size_t most_bytes = 0, builds = 0, heap = 0;
};

class VariantRoundRobin : public ::testing::TestWithParam<std::tuple<LoraApplyMode, ResidencyMode>> {
 protected:
  VariantRoundRobin() {
    for (uint32_t i = 0; i < kAdapters; ++i) adapters_.push_back(random_adapter(*model_.base, AdapterKind::lora, 1000 * i, attention));
  }

  ModelPatcher variant(const std::shared_ptr<const variant::Runtime>& runtime, size_t adapter) const {
    ModelPatcher out(model_.base, runtime, DType::f32);
    out.add_patches(adapters_.at(adapter), 0.8);
    return out;
  }

  Pass visit_all(const std::shared_ptr<const variant::Runtime>& runtime) const {
    ResidentSet& residents = *runtime->residents;
    Pass out;
    const size_t before = residents.num_builds();
    for (size_t i = 0; i < kAdapters; ++i) {
      out.latents.push_back(sample_latents(model_, variant(runtime, i), {.steps = 2}));
      EXPECT_LE(residents.size_bytes(), residents.budget_bytes());
      EXPECT_EQ(residents.num_leases(), 0U);
      out.most_bytes = std::max(out.most_bytes, residents.size_bytes());
    }
    out.builds = residents.num_builds() - before;
    out.heap = heap_bytes();
    return out;
  }

  const TinyModel model_ = tiny_model();
  std::vector<Patches> adapters_;
};

INSTANTIATE_TEST_SUITE_P(All, VariantRoundRobin,
                         ::testing::Combine(::testing::Values(LoraApplyMode::materialised, LoraApplyMode::branch, LoraApplyMode::on_demand),
                                            ::testing::Values(ResidencyMode::classic, ResidencyMode::dynamic)),
                         [](const auto& test) {
                           std::string name(to_string(std::get<0>(test.param)));
                           std::erase(name, '-');
                           return name + std::string(to_string(std::get<1>(test.param)));
                         });

TEST_P(VariantRoundRobin, TwelveAdaptersInRoomForThreeKeepToItAndRepeat) {
  const auto [mode, residency] = GetParam();
  const auto whole = runtime_with(ResidentSet::kUnlimited, mode, residency);
  const Tensor first = sample_latents(model_, variant(whole, 0), {.steps = 2});
  const size_t one = whole->residents->size_bytes();
  const size_t largest = largest_module(*whole->residents);
  const size_t modules = whole->residents->account().size();
  sample_latents(model_, variant(whole, 1), {.steps = 2});
  const size_t adapter = whole->residents->size_bytes() - one;
  const size_t adapter_modules = whole->residents->account().size() - modules;
  // Side branches multiply with the adapter's own factors.
  ASSERT_EQ(adapter > 0, mode == LoraApplyMode::materialised);

  const auto runtime = runtime_with(one + (kRoomFor - 1) * adapter, mode, residency);
  ResidentSet& residents = *runtime->residents;
  const Pass a = visit_all(runtime);
  const Pass b = visit_all(runtime);
  EXPECT_TRUE(same_bits(a.latents[0], first));
  for (size_t i = 0; i < kAdapters; ++i) {
    EXPECT_TRUE(same_bits(a.latents[i], b.latents[i])) << i;
    if (i > 0) {
      EXPECT_FALSE(same_bits(a.latents[i], a.latents[0])) << i;
    }
  }
  EXPECT_LE(residents.peak_bytes(), residents.budget_bytes() + largest);
  EXPECT_LE(b.most_bytes, a.most_bytes);
  // Lists of fixed length in oneDNN may still fill up.
  EXPECT_LE(b.heap, a.heap + 256 * 1024);
  // No module of the base is made again. (On demand, patched modules are made at every use.)
  if (mode != LoraApplyMode::on_demand) {
    EXPECT_LE(b.builds, kAdapters * adapter_modules);
  }
}

}  // namespace
}  // namespace veneer::testing
