#include "nodes/encode_prompt.h"

#include <vector>

#include "models/clip/prompt_tokenizer.h"
#include "nodes/model_store.h"
#include "nodes/node_builder.h"
#include "nodes/require_finite.h"
#include "nodes/services.h"
#include "variant/clip_schedule.h"
#include "variant/hooked_variant.h"

namespace veneer::nodes {
namespace {

models::TokenizedPrompt tokenize(graph::NodeContext& node, const ClipValue& clip, const std::string& text) {
  ModelStore& store = node.environment().get<ModelStore>();
  const models::ClipKind& kind = clip.network->config().kind;
  const models::PromptTokenizer tokenizer(kind, store.vocabulary());
  models::TokenizedPrompt prompt =
      with_input("text", [&] { return tokenizer.tokenize(text, [&](std::string_view name) { return store.embedding(name, kind); }); });
  // A picture made without an embedding that the prompt names is not the picture that was asked for.
  if (!prompt.warnings.empty())
    throw Error(ErrorCode::not_found, "the prompt names an embedding that does not exist", {{"input", "text"}, {"detail", prompt.warnings.front()}});
  return prompt;
}

sampling::ConditioningEntry encode(graph::NodeContext& node, const ClipValue& clip, const variant::ModelPatcher& encoder,
                                   const models::TokenizedPrompt& prompt) {
  models::EncodeOptions options = models::EncodeOptions::of(clip.network->config().kind);
  if (clip.layer) options.layer = clip.layer;
  options.cancel = &node.cancel();
  const std::unique_ptr<variant::ModelView> view = encoder.open_view();
  compute::Context context = node.environment().get<ComputeSettings>().f32_context();
  models::EncodedPrompt encoded;
  try {
    encoded = clip.network->encode(*view, context, prompt, options);
  } catch (const Error& error) {
    throw with_reshaped_weight(error, *view);
  }
  if (!encoded.warnings.empty())
    throw Error(ErrorCode::invalid, "the prompt cannot be encoded as it is written", {{"input", "text"}, {"detail", encoded.warnings.front()}});

  sampling::ConditioningEntry entry;
  entry.context = require_finite(std::move(encoded.hidden), "text encoding", *view);
  entry.pooled = std::move(encoded.pooled);
  return variant::add_hooks({std::move(entry)}, clip.cond_hooks).front();
}

// The parts of the run, with the hooks' strengths in each.
std::vector<variant::ClipInterval> intervals_of(const ClipValue& clip) {
  if (clip.schedule_hooks) return variant::clip_schedule(*clip.hooks);
  return {{0, 1, std::vector<double>(clip.hooks->hooks().size(), 1.0)}};
}

sampling::Conditioning encode_under_hooks(graph::NodeContext& node, const ClipValue& clip, const models::TokenizedPrompt& prompt) {
  variant::HookPatchSource source({variant::HookTarget::text_encoder, clip.patcher.model(), {}, clip.patcher.runtime().compat});
  sampling::Conditioning out;
  Fingerprint last;
  for (const variant::ClipInterval& interval : intervals_of(clip)) {
    const auto active = variant::active_hooks(*clip.hooks, source.model(), interval.strengths, clip.schedule_hooks);
    const variant::ModelPatcher encoder = variant::hooked_variant(clip.patcher, source, active);
    const Fingerprint now = encoder.fingerprint();
    if (out.empty() || now != last) {
      out.push_back(encode(node, clip, encoder, prompt));
      out.back().clip_start_percent = interval.start_percent;
    }
    out.back().clip_end_percent = interval.end_percent;
    last = now;
  }
  for (const std::string& remark : source.take_remarks()) node.progress_text(remark);
  return out;
}

}  // namespace

sampling::Conditioning encode_prompt(graph::NodeContext& node, const ClipValue& clip, const std::string& text) {
  const models::TokenizedPrompt prompt = tokenize(node, clip, text);
  if (clip.hooks) return encode_under_hooks(node, clip, prompt);
  return {encode(node, clip, clip.patcher, prompt)};
}

}  // namespace veneer::nodes
