#include "bench/variant_figures.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compute/block_cache.h"
#include "models/family/checkpoint.h"
#include "models/family/random_model.h"
#include "patch/kinds/file_kinds.h"
#include "tensor/convert.h"
#include "variant/model_patcher.h"
#include "variant/variant_view.h"

namespace veneer::bench {
namespace {

using variant::LoraApplyMode;
using variant::ModelPatcher;

using Patches = std::map<std::string, patch::PatchValuePtr, std::less<>>;

constexpr int64_t kRank = 16;
constexpr size_t kPatchedKeys = 264;  // of an adapter for clones
// What the others patch: attention, feed-forward and the projections around them; all layers of the text encoder.
constexpr size_t kUnetKeys = 192, kTextKeys = 72;
constexpr int64_t kTextTokens = 77;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

size_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

Tensor noise(const Shape& shape, DType dtype, uint32_t seed, float size) {
  Tensor out = Tensor::empty(shape, DType::f32);
  uint32_t state = seed * 2654435761U + 1;
  for (float& value : out.mutable_floats()) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<float>(state >> 8U) / 8388608.0F - 1.0F) * size;
  }
  return to_dtype(out, dtype);
}

// The keys of all attention and feed-forward layers, filled up with others to `count`.
std::vector<std::string> adapter_keys(const variant::BaseModel& base, size_t count) {
  std::vector<std::string> inner, other;
  for (const variant::ModuleDef& module : base.modules()) {
    if (module.kind != variant::ModuleKind::linear && module.kind != variant::ModuleKind::conv2d) continue;
    const bool transformer = module.name.find("transformer_blocks") != std::string::npos || module.name.find("proj_") != std::string::npos;
    (transformer ? inner : other).push_back(module.name + ".weight");
  }
  inner.insert(inner.end(), other.begin(), other.end());
  inner.resize(std::min(inner.size(), count));
  return inner;
}

Patches make_adapter(const variant::BaseModel& base, const std::vector<std::string>& keys, uint32_t seed) {
  Patches out;
  for (const std::string& key : keys) {
    const Shape& shape = base.weight(key).shape();
    Shape down{kRank, shape[1]}, up{shape[0], kRank};
    if (shape.rank() == 4) {
      down = Shape{kRank, shape[1], shape[2], shape[3]};
      up = Shape{shape[0], kRank, 1, 1};
    }
    const patch::AdapterTensors file{{"l.lora_up.weight", noise(up, DType::f16, ++seed, 0.02F)},
                                     {"l.lora_down.weight", noise(down, DType::f16, ++seed, 0.02F)}};
    std::set<std::string, std::less<>> used;
    patch::LayerTensors layer(file, "l", patch::PatchCompat::standard, used);
    out[key] = patch::parse_lora(layer);
  }
  return out;
}

size_t bytes_of(const Patches& patches) {
  size_t bytes = 0;
  for (const auto& [key, value] : patches) bytes += value->size_bytes();
  return bytes;
}

// Of the adapter's tensors, what does not come from malloc and is missing in heap_bytes().
size_t bytes_beside_heap(const variant::BaseModel& base, const Patches& patches) {
  constexpr size_t kFromArena = size_t{256} << 10;
  size_t bytes = 0;
  for (const auto& [key, value] : patches) {
    const Shape& shape = base.weight(key).shape();
    for (const int64_t elements : {shape[0] * kRank, kRank * shape.num_elements_from(1)}) {
      const size_t size = static_cast<size_t>(elements) * size_of(DType::f16);
      if (size >= kFromArena) bytes += size;
    }
  }
  return bytes;
}

// A network with its base, and what runs it.
class Stage {
 public:
  using Forward = std::function<void(variant::ModelView&, compute::Context&)>;

  Stage(std::shared_ptr<const variant::BaseModel> base, DType dtype, Forward forward)
      : base_(std::move(base)), dtype_(dtype), forward_(std::move(forward)) {}

  std::shared_ptr<const variant::Runtime> runtime(LoraApplyMode mode, std::shared_ptr<residency::ResidentSet> residents,
                                                  variant::ResidencyMode residency = variant::ResidencyMode::classic) const {
    variant::Runtime out;
    out.residents = std::move(residents);
    out.apply_mode = mode;
    out.residency = residency;
    return std::make_shared<const variant::Runtime>(std::move(out));
  }
  ModelPatcher patcher(std::shared_ptr<const variant::Runtime> with) const { return {base_, std::move(with), dtype_}; }
  Patches adapter(uint32_t seed, size_t keys) const { return make_adapter(*base_, adapter_keys(*base_, keys), seed); }

  // Seconds of one evaluation.
  double step(variant::ModelView& view) {
    const double start = now();
    forward_(view, context_);
    return now() - start;
  }
  double best_step(variant::ModelView& view, int rounds) {
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds; ++round) best = std::min(best, step(view));
    return best;
  }

  const variant::BaseModel& base() const { return *base_; }

 private:
  std::shared_ptr<const variant::BaseModel> base_;
  DType dtype_;
  Forward forward_;
  compute::BlockCache scratch_;
  compute::Context context_{.scratch = scratch_, .dtype = dtype_, .operations = compute::make_operation_cache()};
};

Stage unet_stage(const models::Loaded<models::Unet>& unet, DType dtype, int64_t latent) {
  const Tensor x = noise({2, unet.network->config().in_channels, latent, latent}, DType::f32, 7, 1.0F);
  const Tensor text = noise({2, kTextTokens, unet.network->config().context_dim}, DType::f32, 8, 1.0F);
  return {unet.base, dtype, [network = unet.network, x, text](variant::ModelView& view, compute::Context& context) {
            network->forward(view, context, x, std::vector<float>(2, 500.0F), text);
          }};
}

// Text encoders compute in f32.
Stage text_stage(const models::LoadedClip& clip) {
  models::TokenizedPrompt prompt;
  prompt.chunks.emplace_back(kTextTokens);
  for (size_t i = 0; i < prompt.chunks[0].size(); ++i) prompt.chunks[0][i].id = static_cast<int32_t>(320 + 7 * i);
  return {clip.base, DType::f32, [network = clip.network, prompt](variant::ModelView& view, compute::Context& context) {
            network->encode(view, context, prompt, models::EncodeOptions::of(network->config().kind));
          }};
}

void print_clones(const ModelPatcher& variant) {
  constexpr size_t kClones = 10'000;
  std::vector<ModelPatcher> alive;
  alive.reserve(kClones);
  const size_t before = heap_bytes();
  std::vector<double> seconds;
  for (size_t i = 0; i < 10; ++i) {
    const double start = now();
    for (size_t j = 0; j < kClones / 10; ++j) alive.push_back(variant.clone());
    seconds.push_back((now() - start) / (kClones / 10.0));
  }
  const double bytes = static_cast<double>(heap_bytes() - before) / kClones + sizeof(ModelPatcher);
  std::printf("clone, %zu patched keys           %8.3f us, %.0f bytes; with 10,000 alive %.3f us (targets: 2 us, 1024 bytes)\n",
              variant.patches().size(), seconds.front() * 1e6, bytes, seconds.back() * 1e6);
}

void print_add_patches(const ModelPatcher& base, const Patches& adapter) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 20; ++round) {
    ModelPatcher variant = base.clone();
    const double start = now();
    variant.add_patches(adapter, 0.8);
    best = std::min(best, now() - start);
  }
  std::printf("add_patches, %zu keys             %8.3f ms (target: 0.3 ms)\n", adapter.size(), best * 1e3);
}

struct Switch {
  double seconds = 0;  // beyond a step of the same variant
  size_t built = 0;    // bytes of ready-to-run weights made
};

// From the request to the end of the first step, less the time of a step that needs nothing.
Switch measure_switch(Stage& stage, const ModelPatcher& to, const residency::ResidentSet& residents) {
  Switch out;
  const size_t built = residents.built_bytes();
  const double start = now();
  const auto view = to.open_view();
  stage.step(*view);
  const double first = now() - start;
  out.built = residents.built_bytes() - built;
  out.seconds = first - stage.best_step(*view, 3);
  return out;
}

size_t patched_bytes(const variant::BaseModel& base, const Patches& adapter) {
  size_t bytes = 0;
  for (const auto& [key, value] : adapter) bytes += base.weight(key).size_bytes();
  return bytes;
}

// Leaves memory behind that the process has touched, as a program has that runs for a while.
void warm_memory() { (void)Tensor::zeros({int64_t{512} << 20}, DType::u8); }

// Between A and B where the budget holds the base and one variant, so that either takes the other's place in memory: the best of some switches, since
// the first ones have memory to find.
Switch switch_under_budget(Stage& stage, const Patches& a, const Patches& b, size_t budget) {
  constexpr int kRounds = 3;
  const auto residents = std::make_shared<residency::ResidentSet>(budget);
  const ModelPatcher base = stage.patcher(stage.runtime(LoraApplyMode::materialised, residents));
  ModelPatcher with_a = base.clone(), with_b = base.clone();
  with_a.add_patches(a, 0.8);
  with_b.add_patches(b, 0.8);
  measure_switch(stage, base, *residents);
  Switch best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    for (const ModelPatcher* to : {&with_a, &with_b}) {
      const Switch to_other = measure_switch(stage, *to, *residents);
      // Less than a whole variant is made where the budget still had the rest.
      if (to_other.built >= best.built && to_other.seconds < best.seconds) best = to_other;
    }
  }
  return best;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Seconds of a switch between variants whose weights or branches are in memory: the medians of first steps and of others, many of each, since the
// difference is small against either.
double measure_returns(Stage& stage, const ModelPatcher& a, const ModelPatcher& b) {
  constexpr int kRounds = 9;
  std::vector<double> first, later;
  for (int round = 0; round < kRounds; ++round) {
    for (const ModelPatcher* to : {&a, &b}) {
      const double start = now();
      const auto view = to->open_view();
      stage.step(*view);
      first.push_back(now() - start);
      later.push_back(stage.step(*view));
    }
  }
  return median(first) - median(later);
}

// What a variant that was never seen before costs as side branches until its first step could begin: its adapter hashed, a view opened, every branch
// made ready. Timed apart from steps, which vary by more than that.
void print_first_use(const char* what, const Stage& stage, size_t keys) {
  double best = std::numeric_limits<double>::infinity();
  for (uint32_t round = 0; round < 5; ++round) {
    ModelPatcher variant = stage.patcher(stage.runtime(LoraApplyMode::branch, std::make_shared<residency::ResidentSet>()));
    variant.add_patches(stage.adapter(9000 * (round + 1), keys), 0.8);
    const double start = now();
    const auto view = variant.open_view();
    variant::LoadedVariant& loaded = static_cast<const variant::VariantView&>(*view).variant();
    for (variant::ModuleId module = 0; module < stage.base().modules().size(); ++module) {
      for (size_t branch = 0; branch < loaded.num_branches(module); ++branch) (void)loaded.use_branch(module, branch);
    }
    best = std::min(best, now() - start);
  }
  std::printf("%s, first use of an adapter's %zu side branches %8.1f ms (target: 5)\n", what, keys, best * 1e3);
}

void print_switches(const char* what, Stage& stage, LoraApplyMode mode, const Patches& a, const Patches& b, double copy_rate) {
  auto residents = std::make_shared<residency::ResidentSet>();
  const ModelPatcher base = stage.patcher(stage.runtime(mode, residents));
  ModelPatcher with_a = base.clone(), with_b = base.clone();
  with_a.add_patches(a, 0.8);
  with_b.add_patches(b, 0.8);
  measure_switch(stage, base, *residents);
  const Switch first_a = measure_switch(stage, with_a, *residents);
  warm_memory();
  const Switch first_b = measure_switch(stage, with_b, *residents);
  const Switch back = measure_switch(stage, base, *residents);
  const double again = measure_returns(stage, with_a, with_b);
  std::printf(
      "%s, switch, %-12s base->A %7.1f ms (%.0f MB made), A->B %7.1f ms (%.0f MB, up to 512 in memory used before), B->base %5.1f ms; "
      "A<->B again %5.1f ms%s\n",
      what, std::string(to_string(mode)).c_str(), first_a.seconds * 1e3, static_cast<double>(first_a.built) / 1e6, first_b.seconds * 1e3,
      static_cast<double>(first_b.built) / 1e6, back.seconds * 1e3, again * 1e3, mode == LoraApplyMode::branch ? " (target: 5)" : "");
  if (mode != LoraApplyMode::materialised) return;
  const auto print_rate = [&](const char* where, const Switch& to_b) {
    const double rate = static_cast<double>(patched_bytes(stage.base(), b) + to_b.built) / to_b.seconds / 1e9;
    std::printf("%s, materialised switch, %-12s %8.2f GB/s (base read + packed written), %.2f of the copy rate (target: 0.33)\n", what, where, rate,
                rate / copy_rate);
  };
  print_rate("fresh memory", first_a);
  print_rate("budget full", switch_under_budget(stage, a, b, residents->size_bytes() - first_b.built));
}

void print_registered(const Stage& unet, const Stage& text) {
  auto residents = std::make_shared<residency::ResidentSet>();
  const auto runtime = unet.runtime(LoraApplyMode::branch, residents);
  const ModelPatcher unet_base = unet.patcher(runtime), text_base = text.patcher(runtime);
  for (const uint32_t count : {1U, 12U, 100U}) {
    const size_t before = heap_bytes();
    std::vector<ModelPatcher> variants;
    size_t adapters = 0, beside = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const Patches for_unet = unet.adapter(1000 * (i + 1), kUnetKeys), for_text = text.adapter(1000 * (i + 1) + 500, kTextKeys);
      adapters += bytes_of(for_unet) + bytes_of(for_text);
      beside += bytes_beside_heap(unet.base(), for_unet) + bytes_beside_heap(text.base(), for_text);
      variants.push_back(unet_base.clone());
      variants.back().add_patches(for_unet, 1.0);
      variants.push_back(text_base.clone());
      variants.back().add_patches(for_text, 1.0);
    }
    const auto grown = static_cast<double>(heap_bytes() - before + beside);
    std::printf("%3u registered variants           %8.1f MB for %.1f MB of adapters: %.3f (target: 1.10)\n", count, grown / 1e6,
                static_cast<double>(adapters) / 1e6, grown / static_cast<double>(adapters));
  }
}

void print_branches(Stage& stage) {
  auto residents = std::make_shared<residency::ResidentSet>();
  const ModelPatcher base = stage.patcher(stage.runtime(LoraApplyMode::branch, residents));
  std::vector<std::unique_ptr<variant::ModelView>> views;
  const std::vector<uint32_t> counts{0, 1, 4};
  for (const uint32_t count : counts) {
    ModelPatcher variant = base.clone();
    for (uint32_t i = 0; i < count; ++i) variant.add_patches(stage.adapter(5000 * (i + 1), kUnetKeys), 0.5);
    views.push_back(variant.open_view());
    stage.step(*views.back());
  }
  // In turn, so that a slow moment of the machine meets all of them.
  std::vector<double> best(counts.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < counts.size(); ++i) best[i] = std::min(best[i], stage.step(*views[i]));
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    std::printf("step with %u side branches         %8.3f s, %.3f of a step without%s\n", counts[i], best[i], best[i] / best[0],
                counts[i] == 1 ? " (target: 1.08)" : "");
  }
}

void print_budgets(Stage& stage, const Patches& adapter) {
  auto unlimited = std::make_shared<residency::ResidentSet>();
  double whole = 0;
  size_t packed = 0;
  for (const auto mode : {variant::ResidencyMode::classic, variant::ResidencyMode::dynamic}) {
    for (const int percent : {100, 50, 25}) {
      auto residents = percent == 100 ? unlimited : std::make_shared<residency::ResidentSet>(packed / 100 * static_cast<size_t>(percent));
      ModelPatcher variant = stage.patcher(stage.runtime(LoraApplyMode::materialised, residents, mode));
      variant.add_patches(adapter, 0.8);
      const auto view = variant.open_view();
      stage.step(*view);
      const double seconds = stage.best_step(*view, 2);
      if (percent == 100 && packed == 0) {
        whole = seconds;
        packed = residents->size_bytes();
      }
      std::printf("step at %3d %% of the weights, %-8s %7.3f s, %.2f of a step with all%s; peak %.2f GB of %.2f\n", percent,
                  std::string(to_string(mode)).c_str(), seconds, seconds / whole, percent == 50 ? " (target: 1.6)" : "",
                  static_cast<double>(residents->peak_bytes()) / 1e9, static_cast<double>(packed) / 1e9);
      std::fflush(stdout);
    }
  }
}

}  // namespace

void print_variant_figures(DType dtype, double copy_rate, int64_t latent) {
  std::printf("variants of SD 1.5's size, UNet %s batch 2 %lldx%lld, text encoder f32\n", std::string(to_string(dtype)).c_str(),
              static_cast<long long>(latent) * 8, static_cast<long long>(latent) * 8);
  const models::LoadedCheckpoint model = models::random_sd15(DType::f16, 1);
  // Switches are told by the difference of two steps: small ones show it best.
  constexpr int64_t kSmallLatent = 8;
  Stage unet = unet_stage(model.unet, dtype, kSmallLatent), text = text_stage(*model.clip);
  const Patches a = unet.adapter(100, kUnetKeys), b = unet.adapter(200, kUnetKeys);
  const Patches text_a = text.adapter(100, kTextKeys), text_b = text.adapter(200, kTextKeys);
  {
    const ModelPatcher base = unet.patcher(unet.runtime(LoraApplyMode::branch, std::make_shared<residency::ResidentSet>()));
    const Patches wide = unet.adapter(300, kPatchedKeys);
    ModelPatcher variant = base.clone();
    variant.add_patches(wide, 0.8);
    print_clones(variant);
    print_add_patches(base, wide);
    std::fflush(stdout);
  }
  for (const LoraApplyMode mode : {LoraApplyMode::branch, LoraApplyMode::materialised, LoraApplyMode::on_demand}) {
    print_switches("unet", unet, mode, a, b, copy_rate);
    print_switches("text", text, mode, text_a, text_b, copy_rate);
    std::fflush(stdout);
  }
  print_first_use("unet", unet, kUnetKeys);
  print_first_use("text", text, kTextKeys);
  print_registered(unet, text);
  Stage large = unet_stage(model.unet, dtype, latent);
  print_branches(large);
  print_budgets(large, a);
}

}  // namespace veneer::bench
