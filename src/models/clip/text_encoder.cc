#include "models/clip/text_encoder.h"

#include <algorithm>
#include <cmath>

#include "base/profile.h"
#include "compute/ops.h"
#include "models/clip/embed_prompt.h"
#include "models/clip/prompt_chunks.h"
#include "veneer/error.h"

namespace veneer::models {

using compute::Epilogue;

namespace {

// Chunks run at once: enough to keep matmuls busy, few enough that a prompt of any length needs little memory beside its result.
constexpr size_t kBatch = 8;

// The layer after which the chosen state is taken, or nullopt for the last layer's normed state.
std::optional<int> chosen_layer(const EncodeOptions& options, int layers) {
  if (!options.layer) return std::nullopt;
  const int64_t index = *options.layer < 0 ? int64_t{layers} + *options.layer : int64_t{*options.layer};
  if (index < 0 || index >= layers) return std::nullopt;
  return static_cast<int>(index);
}

bool is_weighted(const std::vector<PromptChunk>& chunks) {
  return std::any_of(chunks.begin(), chunks.end(), [](const PromptChunk& chunk) {
    return std::any_of(chunk.begin(), chunk.end(), [](const PromptToken& place) { return place.weight != 1.0; });
  });
}

bool has_wild_weight(const std::vector<PromptChunk>& chunks) {
  return std::any_of(chunks.begin(), chunks.end(), [](const PromptChunk& chunk) {
    return std::any_of(chunk.begin(), chunk.end(), [](const PromptToken& place) { return !std::isfinite(static_cast<float>(place.weight)); });
  });
}

// Moves the states of weighted places away from, or towards, those of the empty prompt. states: [chunks + 1, places, width] f32, the empty prompt
// last.
void apply_weights(const std::vector<PromptChunk>& chunks, Tensor& states) {
  const auto width = static_cast<size_t>(states.dim(2));
  const size_t length = chunks.front().size();
  const std::span<float> all = states.mutable_floats();
  for (size_t i = 0; i < chunks.size(); ++i) {
    for (size_t at = 0; at < length; ++at) {
      if (chunks[i][at].weight == 1.0) continue;
      const auto weight = static_cast<float>(chunks[i][at].weight);
      const std::span<float> state = all.subspan((i * length + at) * width, width);
      const std::span<const float> empty = all.subspan((chunks.size() * length + at) * width, width);
      for (size_t c = 0; c < width; ++c) state[c] = (state[c] - empty[c]) * weight + empty[c];
    }
  }
}

}  // namespace

// What the parts of one encode share.
struct ClipTextModel::Run {
  variant::ModelView& view;
  compute::Context& context;
  const EncodeOptions& options;
  std::span<const PromptEmbedding> embeddings;
  std::vector<PromptChunk> rows;  // the prompt's chunks, then the empty one if there are weights
  std::optional<int> layer;       // whose state is wanted; nullopt: the last, normed
  Tensor states;                  // [rows, places, width] f32, filled batch by batch
  Tensor pooled;                  // [1, width] f32
};

ClipTextModel::ClipTextModel(ClipConfig config) : config_(config) {
  ArchitectureBuilder builder(clip_key_prefix(config_.kind));
  const int64_t width = config_.width;
  tokens_ = builder.embedding("text_model.embeddings.token_embedding", config_.vocabulary, width);
  positions_ = builder.embedding("text_model.embeddings.position_embedding", config_.positions, width);
  for (int i = 0; i < config_.layers; ++i) {
    const std::string name = "text_model.encoder.layers." + std::to_string(i) + ".";
    LayerIds ids;
    ids.norm1 = builder.norm(name + "layer_norm1", width);
    ids.q = builder.linear(name + "self_attn.q_proj", width, width);
    ids.k = builder.linear(name + "self_attn.k_proj", width, width);
    ids.v = builder.linear(name + "self_attn.v_proj", width, width);
    ids.out = builder.linear(name + "self_attn.out_proj", width, width);
    ids.norm2 = builder.norm(name + "layer_norm2", width);
    ids.fc1 = builder.linear(name + "mlp.fc1", width, config_.feed_forward);
    ids.fc2 = builder.linear(name + "mlp.fc2", config_.feed_forward, width);
    layers_.push_back(ids);
  }
  final_norm_ = builder.norm("text_model.final_layer_norm", width);
  if (config_.text_projection) projection_ = builder.linear("text_projection", width, width, false);
  architecture_ = builder.finish();
}

Tensor ClipTextModel::token_embeddings(variant::ModelView& view, std::span<const int32_t> ids) const {
  const Tensor table = view.embedding(tokens_);
  const auto width = static_cast<size_t>(config_.width);
  Tensor out = Tensor::empty(Shape({static_cast<int64_t>(ids.size()), config_.width}), DType::f32);
  for (size_t i = 0; i < ids.size(); ++i) read_row(table, ids[i], out.mutable_floats().subspan(i * width, width));
  return out;
}

Tensor ClipTextModel::run_layer(Run& run, const LayerIds& ids, const Tensor& x) const {
  compute::Context& context = run.context;
  variant::ModelView& view = run.view;
  const auto norm = [&](variant::ModuleId id, const Tensor& input) {
    const variant::NormWeights weights = view.norm(id);
    return compute::layer_norm(context, input, weights.weight, weights.bias, config_.kind.norm_eps);
  };
  const Tensor normed = norm(ids.norm1, x);
  const Tensor q = view.linear(context, ids.q, normed);
  const Tensor k = view.linear(context, ids.k, normed);
  const Tensor v = view.linear(context, ids.v, normed);
  const compute::AttentionShape shape{.heads = config_.heads, .head_dim = static_cast<int>(config_.width / config_.heads), .causal = true};
  const Tensor attended = compute::attention(context, {q}, {k}, {v}, shape);
  const Tensor middle = view.linear(context, ids.out, attended, Epilogue{.residual = &x});
  const Tensor inner = view.linear(context, ids.fc1, norm(ids.norm2, middle), Epilogue{.activation = config_.kind.activation});
  return view.linear(context, ids.fc2, inner, Epilogue{.residual = &middle});
}

Tensor ClipTextModel::final_norm(Run& run, const Tensor& x) const {
  const variant::NormWeights weights = run.view.norm(final_norm_);
  return compute::to_f32(run.context, compute::layer_norm(run.context, x, weights.weight, weights.bias, config_.kind.norm_eps));
}

Tensor ClipTextModel::pool(Run& run, const Tensor& normed, const std::vector<PromptToken>& chunk) const {
  const auto is_end = [&](const PromptToken& place) { return place.embedding < 0 && place.id == config_.kind.end_token; };
  const auto found = std::find_if(chunk.begin(), chunk.end(), is_end);
  const auto end = found == chunk.end() ? static_cast<int64_t>(chunk.size()) - 1 : found - chunk.begin();
  Tensor state = normed.reshape(Shape({normed.dim(0) * normed.dim(1), config_.width})).slice(end, 1).clone();
  if (!config_.kind.project_pooled || !projection_) return state;
  const Tensor projected = run.view.linear(run.context, *projection_, compute::to_compute(run.context, state));
  return compute::to_f32(run.context, projected).clone();
}

void ClipTextModel::encode_batch(Run& run, size_t first, size_t count) const {
  compute::Context& context = run.context;
  const std::span<const PromptChunk> chunks = std::span<const PromptChunk>(run.rows).subspan(first, count);
  Tensor x = compute::to_compute(context,
                                 embed_chunks(chunks, run.embeddings, run.view.embedding(tokens_), run.view.embedding(positions_), context.scratch));
  const bool wants_pooled = first == 0;
  Tensor chosen;
  for (int i = 0; i < config_.layers; ++i) {
    if (run.options.cancel != nullptr) run.options.cancel->check();
    x = run_layer(run, layers_[static_cast<size_t>(i)], x);
    if (run.options.observe) run.options.observe(i, x);
    if (run.layer != i) continue;
    chosen = run.options.layer_norm_hidden_state ? final_norm(run, x) : compute::to_f32(context, x);
    if (!wants_pooled && !run.options.observe) break;
  }
  if (wants_pooled || !run.layer) {
    const Tensor last = final_norm(run, x);
    if (wants_pooled) run.pooled = pool(run, last, chunks.front());
    if (!run.layer) chosen = last;
  }
  const std::span<const float> values = chosen.floats();
  std::copy(values.begin(), values.end(),
            run.states.mutable_floats().begin() + static_cast<std::ptrdiff_t>(first) * run.states.shape().num_elements_from(1));
}

EncodedPrompt ClipTextModel::encode(variant::ModelView& view, compute::Context& context, const TokenizedPrompt& prompt,
                                    const EncodeOptions& options) const {
  const ProfileSpan span(context.profile, ProfileKind::network, "text encoder");
  EncodedPrompt out;
  const std::vector<PromptChunk> chunks = fit_chunks(prompt, config_.width, config_.kind, out.warnings);
  if (has_wild_weight(chunks)) out.warnings.emplace_back("a weight of the prompt is not a finite number, so its text has no finite meaning");
  const bool weighted = is_weighted(chunks);

  Run run{view, context, options, prompt.embeddings, chunks, chosen_layer(options, config_.layers), {}, {}};
  if (weighted) run.rows.push_back(empty_chunk(config_.kind));
  const auto num_chunks = static_cast<int64_t>(chunks.size());
  const int64_t length = config_.kind.chunk_length;
  run.states = Tensor::empty(Shape({static_cast<int64_t>(run.rows.size()), length, config_.width}), DType::f32);
  for (size_t first = 0; first < run.rows.size(); first += kBatch) encode_batch(run, first, std::min(kBatch, run.rows.size() - first));

  if (weighted) apply_weights(chunks, run.states);
  out.hidden = run.states.slice(0, num_chunks).reshape(Shape({1, num_chunks * length, config_.width}));
  out.pooled = run.pooled;
  return out;
}

}  // namespace veneer::models
