#include <array>
#include <utility>

#include "compute/ops.h"
#include "models/unet/run.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

using variant::AttentionInputs;
using variant::Identified;
using variant::PatchCall;
using variant::QKV;

constexpr float kLayerNormEps = 1e-5F;

// The patches of one of the two attentions of a transformer block.
struct AttentionPatches {
  const std::vector<Identified<AttentionInputs(const AttentionInputs&, const PatchCall&)>>& inputs;
  const std::vector<Identified<Tensor(const Tensor&, const PatchCall&)>>& output;
  const std::map<variant::BlockPosition, Identified<Tensor(const QKV&, const PatchCall&)>>& replace;
  std::string_view name;
};

Tensor layer_norm(UnetRun& run, variant::ModuleId id, const Tensor& x) {
  const variant::NormWeights norm = run.view.norm(id);
  return compute::layer_norm(run.context, x, norm.weight, norm.bias, kLayerNormEps);
}

// Runs the patches on what the projections will see. They may change the number of tokens and regroup the batch, not the widths.
AttentionInputs patch_inputs(UnetRun& run, const AttentionPatches& patches, AttentionInputs inputs) {
  const int64_t width = inputs.n.dim(2);
  const int64_t context_width = inputs.context.dim(2);
  inputs.n = compute::to_f32(run.context, inputs.n);
  inputs.context = inputs.context.dtype() == DType::f32 ? inputs.context : compute::to_f32(run.context, inputs.context);
  inputs.value = inputs.context;
  for (const auto& patch : patches.inputs) inputs = patch.fn(inputs, run.call);
  const std::string kind = std::string(patches.name) + "_patch";
  inputs.n = accept_patched(run, inputs.n, std::array<int64_t, 3>{-1, -1, width}, kind);
  const int64_t batch = inputs.n.dim(0);
  inputs.context = accept_patched(run, inputs.context, std::array<int64_t, 3>{batch, -1, context_width}, kind);
  inputs.value = accept_patched(run, inputs.value, std::array<int64_t, 3>{batch, inputs.context.dim(1), context_width}, kind);
  return inputs;
}

const Identified<Tensor(const QKV&, const PatchCall&)>* find_replacement(const UnetRun& run, const AttentionPatches& patches) {
  if (patches.replace.empty()) return nullptr;
  variant::BlockPosition position = run.call.position;
  auto found = patches.replace.find(position);
  if (found == patches.replace.end()) {
    position.transformer_index = -1;
    found = patches.replace.find(position);
  }
  return found == patches.replace.end() ? nullptr : &found->second;
}

// Of the text as it was given they are the same at every step.
TextCache::KeysAndValues keys_and_values(UnetRun& run, const AttentionIds& ids, const AttentionInputs& inputs, bool of_text) {
  TextCache* cache = of_text ? run.text_cache : nullptr;
  if (cache != nullptr) {
    if (const TextCache::KeysAndValues* known = cache->find(ids.to_k)) return *known;
  }
  TextCache::KeysAndValues made{run.view.linear(run.context, ids.to_k, inputs.context), run.view.linear(run.context, ids.to_v, inputs.value)};
  if (cache != nullptr) cache->put(ids.to_k, made);
  return made;
}

// A patch may have given a weight other rows; heads of their own there are none of.
void require_channels(const UnetRun& run, variant::ModuleId module, const Tensor& made) {
  const int64_t want = static_cast<int64_t>(run.call.heads) * run.call.head_dim;
  if (made.dim(2) == want) return;
  throw Error(ErrorCode::invalid, "unet: a weight of an attention was patched to another number of rows",
              {{"key", run.view.base().modules().at(module).name + ".weight"}, {"want", std::to_string(want)}, {"got", std::to_string(made.dim(2))}});
}

// `of_text`: keys and values are made of the text, and no patch came between.
Tensor attend(UnetRun& run, const AttentionIds& ids, const AttentionPatches& patches, AttentionInputs inputs, bool of_text) {
  Tensor q = run.view.linear(run.context, ids.to_q, inputs.n);
  const auto [k, v] = keys_and_values(run, ids, inputs, of_text);
  inputs = {};
  require_channels(run, ids.to_q, q);
  require_channels(run, ids.to_k, k);
  require_channels(run, ids.to_v, v);
  if (const auto* replacement = find_replacement(run, patches)) {
    const Shape shape = q.shape();
    const QKV qkv{compute::to_f32(run.context, q), compute::to_f32(run.context, k), compute::to_f32(run.context, v)};
    return accept_patched(run, replacement->fn(qkv, run.call), shape.dims(), std::string(patches.name) + "_replace");
  }
  const compute::AttentionShape shape{.heads = run.call.heads, .head_dim = run.call.head_dim};
  return compute::attention(run.context, {q}, {k}, {v}, shape);
}

// x plus the attention over n. `n` is x normalised; `context` is what keys and values are made of.
Tensor attention_layer(UnetRun& run, const AttentionIds& ids, const AttentionPatches& patches, const Tensor& x, Tensor n, const Tensor& context) {
  AttentionInputs inputs{n, context, context};
  n = {};
  const bool of_text = patches.name == "attn2" && patches.inputs.empty();
  if (!patches.inputs.empty()) {
    if (patches.name == "attn2") inputs.context = run.text_f32;
    inputs = patch_inputs(run, patches, std::move(inputs));
  }
  const Tensor attended = attend(run, ids, patches, std::move(inputs), of_text);
  if (patches.output.empty()) {
    if (attended.shape() != x.shape()) {
      throw Error(ErrorCode::invalid, "unet: attention patches changed the tokens and no output patch restores them",
                  {{"kind", std::string(patches.name)}, {"want", x.shape().to_string()}, {"got", attended.shape().to_string()}});
    }
    return run.view.linear(run.context, ids.to_out, attended, {.residual = &x});
  }
  Tensor out = compute::to_f32(run.context, run.view.linear(run.context, ids.to_out, attended));
  for (const auto& patch : patches.output) out = patch.fn(out, run.call);
  out = accept_patched(run, out, x.shape().dims(), std::string(patches.name) + "_output_patch");
  return compute::add(run.context, x, out);
}

Tensor run_transformer_block(UnetRun& run, const TransformerBlockIds& ids, Tensor x) {
  const variant::TransformerOptions& options = run.options;
  const AttentionPatches self{options.attn1_patch, options.attn1_output_patch, options.attn1_replace, "attn1"};
  Tensor n = layer_norm(run, ids.norm1, x);
  x = attention_layer(run, ids.attn1, self, x, n, n);
  if (!options.middle_patch.empty()) {
    const Shape shape = x.shape();
    x = compute::to_f32(run.context, x);
    for (const auto& patch : options.middle_patch) x = patch.fn(x, run.call);
    x = accept_patched(run, x, shape.dims(), "middle_patch");
  }
  const AttentionPatches cross{options.attn2_patch, options.attn2_output_patch, options.attn2_replace, "attn2"};
  n = layer_norm(run, ids.norm2, x);
  x = attention_layer(run, ids.attn2, cross, x, std::move(n), run.text);
  n = layer_norm(run, ids.norm3, x);
  n = run.view.linear(run.context, ids.ff_in, n);
  n = compute::geglu(run.context, n);
  return run.view.linear(run.context, ids.ff_out, n, {.residual = &x});
}

}  // namespace

Tensor run_spatial_transformer(UnetRun& run, const SpatialTransformerIds& ids, const Tensor& x) {
  const variant::NormWeights norm = run.view.norm(ids.norm);
  const Shape tokens({x.dim(0), x.dim(1) * x.dim(2), x.dim(3)});
  const bool linear = run.view.base().modules()[ids.proj_in].kind == variant::ModuleKind::linear;
  Tensor h = compute::group_norm(run.context, x, norm.weight, norm.bias, kNormGroups, 1e-6F, false);
  h = linear ? run.view.linear(run.context, ids.proj_in, h) : run.view.conv2d(run.context, ids.proj_in, h);
  h = h.reshape(tokens);
  run.call.heads = ids.heads;
  run.call.head_dim = ids.head_dim;
  run.call.height = x.dim(1);
  run.call.width = x.dim(2);
  for (size_t i = 0; i < ids.blocks.size(); ++i) {
    run.call.position.transformer_index = static_cast<int>(i);
    h = run_transformer_block(run, ids.blocks[i], std::move(h));
  }
  run.call.position.transformer_index = 0;
  run.call.heads = run.call.head_dim = 0;
  h = h.reshape(x.shape());
  return linear ? run.view.linear(run.context, ids.proj_out, h, {.residual = &x}) : run.view.conv2d(run.context, ids.proj_out, h, {.residual = &x});
}

}  // namespace veneer::models
