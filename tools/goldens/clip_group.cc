// clip: the text encoder on models/clip.safetensors and embedding tables made by the formula in the manifest's notes.
#include <regex>

#include "golden_embeddings.h"
#include "golden_set.h"
#include "models/family/checkpoint.h"
#include "network_set.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using models::EncodedPrompt;
using models::EncodeOptions;
using models::TokenizedPrompt;

// Element (row, col) of a table of width W: lowbias32 of row * W + col + salt, as one of 1024 steps of 1/4096 around zero.
Tensor formula_table(int64_t rows, int64_t width, uint32_t salt) {
  Tensor out = Tensor::empty(Shape({rows, width}), DType::f32);
  uint32_t index = salt;
  for (float& value : out.mutable_floats()) {
    uint32_t x = index++;
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    value = static_cast<float>(static_cast<int32_t>(x >> 22) - 512) / 4096.0F;
  }
  return out;
}

std::string notes_of(const Group& group) {
  std::string out;
  for (const auto& note : group.manifest().at("notes")) out += note.get<std::string>() + "\n";
  return out;
}

// The first group of `pattern` in the notes.
std::smatch find_note(const std::string& notes, const std::string& pattern) {
  std::smatch match;
  if (!std::regex_search(notes, match, std::regex(pattern)))
    throw Error(ErrorCode::corrupt, "goldens: the notes lack a fact", {{"pattern", pattern}});
  return match;
}

models::LoadedClip load_golden_clip(const Group& group) {
  const std::string notes = notes_of(group);
  models::WeightMap weights = models::tensors_of(group.model("clip"));
  const std::string norm = "text_model.final_layer_norm.weight";
  const auto found = std::find_if(weights.begin(), weights.end(), [&](const auto& entry) { return entry.first.ends_with(norm); });
  if (found == weights.end()) throw Error(ErrorCode::corrupt, "goldens: models/clip.safetensors is no text encoder");
  const int64_t width = found->second.dim(0);
  const std::string prefix = found->first.substr(0, found->first.size() - norm.size()) + "text_model.embeddings.";
  for (const std::string table : {"token_embedding", "position_embedding"}) {
    const std::smatch fact = find_note(notes, table + " salt (0x[0-9a-f]+) \\(([0-9]+) rows\\)");
    weights[prefix + table + ".weight"] = formula_table(std::stoll(fact[2]), width, static_cast<uint32_t>(std::stoul(fact[1], nullptr, 16)));
  }
  // Shapes cannot tell the number of heads.
  models::ClipKind kind = models::sd1_clip_l();
  kind.head_dim = static_cast<int>(width / std::stoll(find_note(notes, "'num_attention_heads': ([0-9]+)")[1]));
  return models::load_clip(weights, "clip.safetensors", kind);
}

// The layers case: token vectors and the state behind every layer of given ids.
void run_layers(Case& golden, const models::ClipTextModel& model, variant::ModelView& view, compute::Context& context) {
  const Tensor ids = golden.input("ids");
  const std::span<const int32_t> row(ids.data<int32_t>(), static_cast<size_t>(ids.dim(1)));
  golden.check("token_embeds", model.token_embeddings(view, row).reshape(Shape({1, ids.dim(1), model.config().width})));

  TokenizedPrompt prompt;
  prompt.chunks.emplace_back();
  for (const int32_t id : row) prompt.chunks.back().push_back({.id = id});
  std::vector<float> states;
  EncodeOptions options;
  options.observe = [&](int, const Tensor& state) { states.insert(states.end(), state.floats().begin(), state.floats().end()); };
  const EncodedPrompt got = model.encode(view, context, prompt, options);
  golden.check("after_layer", Tensor::from(Shape({1, model.config().layers, ids.dim(1), model.config().width}), states));
  golden.check("last_normed", got.hidden);
  golden.check("pooled", got.pooled);
}

}  // namespace

Runner make_clip_runner(const Group& group) {
  const models::LoadedClip clip = load_golden_clip(group);
  const auto variant = std::make_shared<variant::ModelPatcher>(f32_variant(clip.base));
  const auto tokenizer = std::make_shared<models::PromptTokenizer>(models::sd1_clip_l(), models::BpeVocabulary::clip());
  const models::EmbeddingSource embeddings = golden_embeddings(group);
  return [clip, variant, tokenizer, embeddings](Case& golden) {
    const auto view = variant->open_view();
    compute::Context context;
    if (golden.has_input("ids")) return run_layers(golden, *clip.network, *view, context);

    EncodeOptions options;
    const auto& params = golden.params();
    if (params.contains("layer") && !params.at("layer").is_null()) options.layer = params.at("layer").get<int>();
    options.layer_norm_hidden_state = params.value("layer_norm_hidden_state", true);
    const TokenizedPrompt prompt = tokenizer->tokenize(params.at("text").get<std::string>(), embeddings);
    const EncodedPrompt got = clip.network->encode(*view, context, prompt, options);
    golden.check("hidden", got.hidden);
    golden.check("pooled", got.pooled);
  };
}

}  // namespace veneer::goldens
