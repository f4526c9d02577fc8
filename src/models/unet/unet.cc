#include "models/unet/unet.h"

#include <array>
#include <utility>

#include "base/profile.h"
#include "compute/ops.h"
#include "models/unet/run.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

[[noreturn]] void fail(std::string text, const std::string& want, const std::string& got) {
  throw Error(ErrorCode::invalid, std::move(text), {{"want", want}, {"got", got}});
}

void check_f32(const Tensor& tensor, int rank, const char* name) {
  if (!tensor.defined() || tensor.dtype() != DType::f32 || tensor.rank() != rank || tensor.num_elements() == 0) {
    throw Error(ErrorCode::invalid, "unet: an input is not an f32 tensor of the right rank",
                {{"input", name},
                 {"want", "rank " + std::to_string(rank)},
                 {"got", tensor.defined() ? std::string(to_string(tensor.dtype())) + " " + tensor.shape().to_string() : "nothing"}});
  }
}

void check_inputs(const UnetConfig& config, const Tensor& x, std::span<const float> timesteps, const Tensor& text, const Tensor& y) {
  check_f32(x, 4, "x");
  check_f32(text, 3, "context");
  const int64_t batch = x.dim(0);
  if (x.dim(1) != config.in_channels)
    fail("unet: the latent has another number of channels", std::to_string(config.in_channels), std::to_string(x.dim(1)));
  if (static_cast<int64_t>(timesteps.size()) != batch) fail("unet: one timestep per latent", std::to_string(batch), std::to_string(timesteps.size()));
  if (text.dim(0) != batch) fail("unet: the text conditioning has another batch size", std::to_string(batch), std::to_string(text.dim(0)));
  if (text.dim(2) != config.context_dim) {
    fail("unet: the text conditioning has another width than the model's context", std::to_string(config.context_dim), std::to_string(text.dim(2)));
  }
  if (y.defined() != (config.adm_channels > 0)) {
    fail("unet: vector conditioning", config.adm_channels > 0 ? std::to_string(config.adm_channels) + " channels" : "none",
         y.defined() ? "given" : "none");
  }
  if (y.defined()) {
    check_f32(y, 2, "y");
    if (y.shape() != Shape({batch, config.adm_channels})) {
      fail("unet: vector conditioning", Shape({batch, config.adm_channels}).to_string(), y.shape().to_string());
    }
  }
}

// The forward of one call, block by block.
class Forward {
 public:
  Forward(const UnetConfig& config, const UnetStructure& net, UnetRun run, const UnetCallExtras& extras)
      : config_(config), net_(net), run_(std::move(run)), extras_(extras) {
    if (extras.control != nullptr) control_ = *extras.control;
  }

  Tensor operator()(const Tensor& x, std::span<const float> timesteps) {
    embed(timesteps);
    Tensor h = compute::to_nhwc(run_.context, x);
    std::vector<Tensor> skips;
    for (size_t i = 0; i < net_.input.size(); ++i) {
      enter("input", i);
      h = run_block(net_.input[i], std::move(h), nullptr);
      observe(h);
      h = add_control(std::move(h), control_.input);
      h = patch_block(run_.options.input_block_patch, std::move(h), "input_block_patch");
      skips.push_back(h);
      h = patch_block(run_.options.input_block_patch_after_skip, std::move(h), "input_block_patch_after_skip");
    }
    enter("middle", 0);
    h = run_res_block(run_, net_.middle_in, std::move(h));
    h = run_spatial_transformer(run_, net_.middle, h);
    h = run_res_block(run_, net_.middle_out, std::move(h));
    observe(h);
    h = add_control(std::move(h), control_.middle);
    for (size_t i = 0; i < net_.output.size(); ++i) {
      enter("output", i);
      h = join_skip(std::move(h), std::exchange(skips.back(), {}));
      skips.pop_back();
      h = run_block(net_.output[i], std::move(h), skips.empty() ? nullptr : &skips.back());
      observe(h);
    }
    const variant::NormWeights norm = run_.view.norm(net_.out_norm);
    h = compute::group_norm(run_.context, h, norm.weight, norm.bias, kNormGroups, 1e-5F, true);
    h = run_.view.conv2d(run_.context, net_.out_conv, h);
    return compute::to_nchw_f32(run_.context, h);
  }

 private:
  void enter(const char* block, size_t index) {
    if (extras_.checkpoint) extras_.checkpoint();
    run_.call.position = {block, static_cast<int>(index), 0};
  }

  void observe(const Tensor& h) const {
    if (extras_.observe) extras_.observe("block_" + run_.call.position.block + "_" + std::to_string(run_.call.position.block_index), h);
  }

  // The timestep's embedding, through SiLU: every residual block begins with that.
  void embed(std::span<const float> timesteps) {
    compute::Context& context = run_.context;
    Tensor emb = compute::timestep_embedding(context, timesteps, static_cast<int>(config_.model_channels));
    emb = run_.view.linear(context, net_.time_in, emb, {.activation = compute::Activation::silu});
    emb = run_.view.linear(context, net_.time_out, emb);
    if (!run_.options.emb_patch.empty()) {
      const Shape shape = emb.shape();
      emb = compute::to_f32(context, emb);
      for (const auto& patch : run_.options.emb_patch) emb = patch.fn(emb, run_.call);
      emb = accept_patched(run_, emb, shape.dims(), "emb_patch");
    }
    if (net_.label_in) {
      const Tensor y = run_.view.linear(context, *net_.label_in, compute::to_compute(context, extras_.y), {.activation = compute::Activation::silu});
      emb = run_.view.linear(context, *net_.label_out, y, {.residual = &emb});
    }
    run_.emb = compute::silu(context, emb);
  }

  // `next_skip`: what an upsampling has to fit.
  Tensor run_block(const UnetBlock& block, Tensor h, const Tensor* next_skip) {
    if (block.conv) h = run_.view.conv2d(run_.context, *block.conv, h);
    if (block.res) h = run_res_block(run_, *block.res, std::move(h));
    if (block.transformer) h = run_spatial_transformer(run_, *block.transformer, h);
    if (block.upsample) {
      const int64_t height = next_skip != nullptr ? next_skip->dim(1) : 2 * h.dim(1);
      const int64_t width = next_skip != nullptr ? next_skip->dim(2) : 2 * h.dim(2);
      h = run_.view.conv2d(run_.context, *block.upsample, {std::move(h), height, width});
    }
    return h;
  }

  // Takes the last signal off the list and adds it.
  Tensor add_control(Tensor h, std::vector<Tensor>& signals) {
    if (signals.empty()) return h;
    const Tensor signal = std::exchange(signals.back(), {});
    signals.pop_back();
    if (!signal.defined()) return h;
    const Shape want({h.dim(0), h.dim(3), h.dim(1), h.dim(2)});
    if (signal.dtype() != DType::f32 || signal.shape() != want) {
      throw Error(ErrorCode::invalid, "unet: a control signal does not fit its block",
                  {{"block", run_.call.position.block + " " + std::to_string(run_.call.position.block_index)},
                   {"want", "f32 " + want.to_string()},
                   {"got", std::string(to_string(signal.dtype())) + " " + signal.shape().to_string()}});
    }
    return compute::add(run_.context, h, compute::to_nhwc(run_.context, signal));
  }

  Tensor join_skip(Tensor h, Tensor skip) {
    skip = add_control(std::move(skip), control_.output);
    if (!run_.options.output_block_patch.empty()) {
      set_place(h);
      const int64_t channels = h.dim(3);
      const int64_t skip_channels = skip.dim(3);
      variant::BlockAndSkip both{compute::to_f32(run_.context, h), compute::to_f32(run_.context, skip)};
      for (const auto& patch : run_.options.output_block_patch) both = patch.fn(both, run_.call);
      h = accept_patched(run_, both.h, std::array<int64_t, 4>{h.dim(0), -1, -1, channels}, "output_block_patch");
      skip = accept_patched(run_, both.skip, std::array<int64_t, 4>{h.dim(0), -1, -1, skip_channels}, "output_block_patch");
    }
    if (h.dim(1) != skip.dim(1) || h.dim(2) != skip.dim(2)) {
      fail("unet: patches left a block and its skip with different sizes", skip.shape().to_string(), h.shape().to_string());
    }
    return compute::concat_channels(run_.context, h, skip);
  }

  // Block patches may change the height and the width.
  template <typename Patches>
  Tensor patch_block(const Patches& patches, Tensor h, std::string_view kind) {
    if (patches.empty()) return h;
    set_place(h);
    const std::array<int64_t, 4> want{h.dim(0), -1, -1, h.dim(3)};
    h = compute::to_f32(run_.context, h);
    for (const auto& patch : patches) h = patch.fn(h, run_.call);
    return accept_patched(run_, h, want, kind);
  }

  void set_place(const Tensor& h) {
    run_.call.height = h.dim(1);
    run_.call.width = h.dim(2);
  }

  const UnetConfig& config_;
  const UnetStructure& net_;
  UnetRun run_;
  const UnetCallExtras& extras_;
  ControlSignals control_;  // handles not yet used up
};

}  // namespace

Tensor accept_patched(UnetRun& run, const Tensor& result, std::span<const int64_t> want, std::string_view kind) {
  bool fits = result.defined() && result.dtype() == DType::f32 && result.rank() == static_cast<int>(want.size()) && result.num_elements() > 0;
  for (size_t i = 0; fits && i < want.size(); ++i) fits = want[i] < 0 || result.dim(static_cast<int>(i)) == want[i];
  if (!fits) {
    std::string shape;
    for (const int64_t extent : want) shape += (shape.empty() ? "[" : ", ") + (extent < 0 ? "any" : std::to_string(extent));
    throw Error(ErrorCode::invalid, "unet: a patch returned a tensor that does not fit",
                {{"kind", std::string(kind)},
                 {"block", run.call.position.block + " " + std::to_string(run.call.position.block_index)},
                 {"want", "f32 " + shape + "]"},
                 {"got", result.defined() ? std::string(to_string(result.dtype())) + " " + result.shape().to_string() : "nothing"}});
  }
  return compute::to_compute(run.context, result);
}

Tensor Unet::forward(variant::ModelView& view, compute::Context& context, const Tensor& x, std::span<const float> timesteps, const Tensor& text,
                     const UnetCallExtras& extras) const {
  check_inputs(config_, x, timesteps, text, extras.y);
  if (view.base().modules().size() != structure_.architecture.table.modules().size()) {
    throw Error(ErrorCode::internal, "unet: the view is of another model", {{"model", view.base().source_name()}});
  }
  const ProfileSpan span(context.profile, ProfileKind::network, "unet", [&] {
    return ProfileWork{x.shape().to_string(), to_string(context.dtype), 0, 0};
  });
  variant::PatchCall call;
  call.cond_or_uncond = extras.cond_or_uncond;
  call.sigmas = extras.sigmas;
  call.latent_height = x.dim(2);
  call.latent_width = x.dim(3);
  call.run = extras.run;
  const variant::TransformerOptions& options = extras.options != nullptr ? *extras.options : view.transformer_options();
  UnetRun run{view, context, options, text, compute::to_compute(context, text), {}, extras.text_cache, std::move(call)};
  if (extras.text_cache != nullptr) extras.text_cache->begin(extras.weights, context.dtype, text);
  return Forward(config_, structure_, std::move(run), extras)(x, timesteps);
}

}  // namespace veneer::models
