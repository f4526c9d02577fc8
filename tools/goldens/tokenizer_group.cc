// tokenizer: prompts to chunks of weighted tokens. A prompt passes when it matches `expect` or one of the alternatives that the manifest allows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "golden_embeddings.h"
#include "golden_set.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using models::PromptToken;
using models::TokenizedPrompt;

double weight_of(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "inf" || text == "-inf") return text == "inf" ? HUGE_VAL : -HUGE_VAL;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw Error(ErrorCode::invalid, "goldens: not a weight", {{"text", text}});
}

bool same_weight(double got, double want) {
  if (std::isnan(want) || std::isinf(want)) return got == want || (std::isnan(got) && std::isnan(want));
  return std::abs(got - want) <= 1e-6 * std::max(1.0, std::abs(want));
}

bool same_vector(const Tensor& a, int64_t row_a, const Tensor& b, int64_t row_b) {
  const Tensor x = to_dtype(a.slice(row_a, 1).clone(), DType::f32);
  const Tensor y = to_dtype(b.slice(row_b, 1).clone(), DType::f32);
  return std::equal(x.floats().begin(), x.floats().end(), y.floats().begin(), y.floats().end());
}

// `want`: an id or {embedding, row}.
bool same_token(const TokenizedPrompt& prompt, const PromptToken& got, const nlohmann::json& want, const models::EmbeddingSource& embeddings) {
  if (want.is_number()) return got.embedding < 0 && got.id == want.get<int32_t>();
  if (got.embedding < 0) return false;
  const std::optional<Tensor> vectors = embeddings(want.at("embedding").get<std::string>());
  return vectors && same_vector(prompt.embeddings[static_cast<size_t>(got.embedding)].vectors, got.row, *vectors, want.at("row").get<int64_t>());
}

// Calls same(place, first of the run) for each place of a chunk and the run [first, second, count] that covers it; false when the counts do not add
// up.
template <typename Same>
bool matches_runs(const std::vector<PromptToken>& chunk, const nlohmann::json& runs, Same same) {
  size_t at = 0;
  for (const auto& run : runs) {
    for (int i = 0; i < run.at(2).get<int>(); ++i, ++at) {
      if (at >= chunk.size() || !same(chunk[at], run)) return false;
    }
  }
  return at == chunk.size();
}

// What differs first, or "" when nothing does.
std::string difference(const TokenizedPrompt& got, const nlohmann::json& want, const models::EmbeddingSource& embeddings) {
  if (got.warnings != want.at("warnings").get<std::vector<std::string>>()) return "warnings";
  if (got.chunks.size() != want.at("tokens").size()) return "number of chunks";
  for (size_t i = 0; i < got.chunks.size(); ++i) {
    const std::vector<PromptToken>& chunk = got.chunks[i];
    const std::string where = " of chunk " + std::to_string(i);
    if (chunk.size() != want.at("chunks").at(i).get<size_t>()) return "length" + where;
    const bool tokens = matches_runs(chunk, want.at("tokens").at(i), [&](const PromptToken& place, const nlohmann::json& run) {
      return same_token(got, place, run.at(0), embeddings) && same_weight(place.weight, weight_of(run.at(1)));
    });
    if (!tokens) return "tokens" + where;
    const bool words = matches_runs(chunk, want.at("word_ids").at(i),
                                    [](const PromptToken& place, const nlohmann::json& run) { return place.word_id == run.at(0).get<int32_t>(); });
    if (!words) return "word ids" + where;
  }
  return "";
}

std::string describe(const TokenizedPrompt& prompt) {
  std::string out;
  for (const PromptToken& place : prompt.chunks.front())
    out += " " + (place.embedding < 0 ? std::to_string(place.id) : "v" + std::to_string(place.row));
  return out;
}

}  // namespace

Runner make_tokenizer_runner(const Group& group) {
  const auto tokenizer = std::make_shared<models::PromptTokenizer>(models::sd1_clip_l(), models::BpeVocabulary::clip());
  const models::EmbeddingSource embeddings = golden_embeddings(group);
  return [tokenizer, embeddings](Case& golden) {
    const TokenizedPrompt got = tokenizer->tokenize(golden.params().at("text").get<std::string>(), embeddings);
    const std::string first = difference(got, golden.expect(), embeddings);
    bool passed = first.empty();
    if (golden.expect().contains("alternatives")) {
      for (const auto& [version, want] : golden.expect().at("alternatives").items()) passed = passed || difference(got, want, embeddings).empty();
    }
    golden.require(passed, "differs in " + first + ", first chunk:" + describe(got));
  };
}

}  // namespace veneer::goldens
