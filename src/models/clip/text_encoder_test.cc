#include "models/clip/text_encoder.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>

#include "models/clip/prompt_chunks.h"
#include "models/testing/test_models.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Rows = std::vector<std::vector<double>>;  // [tokens][width]

// Three layers of two heads over a vocabulary of 50 and chunks of 12; 48 starts, 49 ends and pads.
ClipConfig tiny_config() {
  ClipKind kind = sd1_clip_l();
  kind.head_dim = 8;
  kind.start_token = 48;
  kind.end_token = kind.pad_token = 49;
  kind.chunk_length = 12;
  kind.max_word_length = 4;
  return {.kind = kind, .vocabulary = 50, .positions = 12, .width = 16, .layers = 3, .heads = 2, .feed_forward = 40, .text_projection = false};
}

struct Tiny {
  explicit Tiny(const ClipConfig& config = tiny_config()) : model(config), weights(testing::test_weights(model.architecture(), 5)) {}

  EncodedPrompt encode(const TokenizedPrompt& prompt, const EncodeOptions& options = {}, DType dtype = DType::f32) const {
    const auto view = testing::variant_of(testing::base_of(model.architecture(), weights), dtype).open_view();
    compute::Context context{.dtype = dtype};
    return model.encode(*view, context, prompt, options);
  }

  ClipTextModel model;
  WeightMap weights;
};

TokenizedPrompt prompt_of(const std::vector<std::vector<PromptToken>>& groups) { return {fill_chunks(groups, tiny_config().kind), {}, {}}; }

std::vector<PromptToken> words(std::initializer_list<int32_t> ids, double weight = 1) {
  std::vector<PromptToken> out;
  for (const int32_t id : ids) out.push_back({.id = id, .weight = weight});
  return out;
}

// The encoder as its definition says it, one token after the other, in double.
class NaiveEncoder {
 public:
  explicit NaiveEncoder(const Tiny& tiny) : config_(tiny.model.config()), weights_(tiny.weights) {}

  // States behind every layer, before the final norm.
  std::vector<Rows> layers(Rows x) const {
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t c = 0; c < x[t].size(); ++c) x[t][c] += at("embeddings.position_embedding.weight", t * x[t].size() + c);
    }
    std::vector<Rows> out;
    for (int i = 0; i < config_.layers; ++i) {
      const std::string name = "encoder.layers." + std::to_string(i) + ".";
      x = sum(x, linear(name + "self_attn.out_proj", attention(name, norm(name + "layer_norm1", x))));
      Rows inner = linear(name + "mlp.fc1", norm(name + "layer_norm2", x));
      for (auto& row : inner) {
        for (double& value : row) value = value / (1 + std::exp(-1.702 * value));
      }
      x = sum(x, linear(name + "mlp.fc2", inner));
      out.push_back(x);
    }
    return out;
  }

  Rows token_rows(const std::vector<PromptToken>& chunk) const {
    Rows out;
    for (const PromptToken& place : chunk) {
      out.emplace_back();
      for (int64_t c = 0; c < config_.width; ++c)
        out.back().push_back(at("embeddings.token_embedding.weight", static_cast<size_t>(place.id * config_.width + c)));
    }
    return out;
  }

  Rows norm(const std::string& name, Rows x) const {
    for (auto& row : x) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (size_t c = 0; c < row.size(); ++c) row[c] = (row[c] - mean) / std::sqrt(variance + 1e-5) * at(name + ".weight", c) + at(name + ".bias", c);
    }
    return x;
  }

  Rows final_norm(const Rows& x) const { return norm("final_layer_norm", x); }

 private:
  double at(const std::string& name, size_t index) const { return weights_.at("clip_l.transformer.text_model." + name).floats()[index]; }

  Rows linear(const std::string& name, const Rows& x) const {
    const auto out_width = static_cast<size_t>(weights_.at("clip_l.transformer.text_model." + name + ".weight").dim(0));
    Rows out(x.size(), std::vector<double>(out_width));
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t o = 0; o < out_width; ++o) {
        out[t][o] = at(name + ".bias", o);
        for (size_t i = 0; i < x[t].size(); ++i) out[t][o] += at(name + ".weight", o * x[t].size() + i) * x[t][i];
      }
    }
    return out;
  }

  Rows attention(const std::string& name, const Rows& x) const {
    const Rows q = linear(name + "self_attn.q_proj", x), k = linear(name + "self_attn.k_proj", x), v = linear(name + "self_attn.v_proj", x);
    const size_t width = x[0].size(), dim = width / static_cast<size_t>(config_.heads);
    Rows out(x.size(), std::vector<double>(width, 0.0));
    for (size_t first = 0; first < width; first += dim) {
      for (size_t t = 0; t < x.size(); ++t) {
        std::vector<double> scores(t + 1, 0.0);
        double total = 0;
        for (size_t s = 0; s <= t; ++s) {
          for (size_t c = first; c < first + dim; ++c) scores[s] += q[t][c] * k[s][c];
          scores[s] = std::exp(scores[s] / std::sqrt(static_cast<double>(dim)));
          total += scores[s];
        }
        for (size_t s = 0; s <= t; ++s) {
          for (size_t c = first; c < first + dim; ++c) out[t][c] += scores[s] / total * v[s][c];
        }
      }
    }
    return out;
  }

  static Rows sum(Rows a, const Rows& b) {
    for (size_t t = 0; t < a.size(); ++t) {
      for (size_t c = 0; c < a[t].size(); ++c) a[t][c] += b[t][c];
    }
    return a;
  }

  const ClipConfig& config_;
  const WeightMap& weights_;
};

// Rows of `got` from `first` on, [.., width] f32, are `want`.
void expect_rows(const Tensor& got, size_t first, const Rows& want, double tolerance = 2e-5) {
  for (size_t t = 0; t < want.size(); ++t) {
    for (size_t c = 0; c < want[t].size(); ++c) {
      ASSERT_NEAR(got.floats()[(first + t) * want[t].size() + c], want[t][c], tolerance) << "token " << t << " channel " << c;
    }
  }
}

TEST(TextEncoder, AgreesWithTheDefinition) {
  const Tiny tiny;
  const NaiveEncoder naive(tiny);
  const TokenizedPrompt prompt = prompt_of({words({3, 14, 15, 9, 26, 5, 35})});
  const Rows states = naive.final_norm(naive.layers(naive.token_rows(prompt.chunks[0])).back());
  const EncodedPrompt got = tiny.encode(prompt);
  ASSERT_EQ(got.hidden.shape(), Shape({1, 12, 16}));
  ASSERT_EQ(got.pooled.shape(), Shape({1, 16}));
  expect_rows(got.hidden, 0, states);
  expect_rows(got.pooled, 0, {states[8]});
  EXPECT_THAT(got.warnings, SizeIs(0));
}

TEST(TextEncoder, ReturnsTheChosenLayer) {
  const Tiny tiny;
  const NaiveEncoder naive(tiny);
  const TokenizedPrompt prompt = prompt_of({words({1, 2, 3})});
  const std::vector<Rows> layers = naive.layers(naive.token_rows(prompt.chunks[0]));
  for (int back = 1; back <= 3; ++back) {
    const Rows& state = layers[layers.size() - static_cast<size_t>(back)];
    expect_rows(tiny.encode(prompt, {.layer = -back, .layer_norm_hidden_state = false}).hidden, 0, state);
    const EncodedPrompt normed = tiny.encode(prompt, {.layer = -back});
    expect_rows(normed.hidden, 0, naive.final_norm(state));
    expect_rows(normed.pooled, 0, {naive.final_norm(layers.back())[4]});
  }
  expect_rows(tiny.encode(prompt, {.layer = 0, .layer_norm_hidden_state = false}).hidden, 0, layers[0]);
}

TEST(TextEncoder, TakesTheLastLayerForOneThatDoesNotExist) {
  const Tiny tiny;
  const TokenizedPrompt prompt = prompt_of({words({1, 2, 3})});
  const EncodedPrompt last = tiny.encode(prompt);
  for (const int layer : {-4, 3, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    const EncodedPrompt got = tiny.encode(prompt, {.layer = layer, .layer_norm_hidden_state = false});
    EXPECT_TRUE(std::equal(got.hidden.floats().begin(), got.hidden.floats().end(), last.hidden.floats().begin())) << layer;
  }
}

TEST(TextEncoder, MovesWeightedStatesAwayFromTheEmptyPrompt) {
  const Tiny tiny;
  const TokenizedPrompt plain = prompt_of({words({7}), words({8, 9})});
  const TokenizedPrompt weighted = prompt_of({words({7}), words({8, 9}, 1.5)});
  const Tensor empty = tiny.encode(prompt_of({})).hidden;
  const EncodedPrompt from = tiny.encode(plain);
  const EncodedPrompt got = tiny.encode(weighted);
  for (size_t i = 0; i < 12U * 16U; ++i) {
    const size_t token = i / 16;
    const float weight = token == 2 || token == 3 ? 1.5F : 1.0F;
    ASSERT_NEAR(got.hidden.floats()[i], empty.floats()[i] + (from.hidden.floats()[i] - empty.floats()[i]) * weight, 1e-5) << token;
  }
  for (size_t i = 0; i < 16; ++i) ASSERT_NEAR(got.pooled.floats()[i], from.pooled.floats()[i], 1e-5);
}

TEST(TextEncoder, JoinsChunksAlongTheTokens) {
  const Tiny tiny;
  // More chunks than are run at once.
  std::vector<PromptToken> group(115);
  for (size_t i = 0; i < group.size(); ++i) group[i].id = static_cast<int32_t>(i % 47);
  const TokenizedPrompt prompt = prompt_of({group});
  ASSERT_EQ(prompt.chunks.size(), 12U);
  const EncodedPrompt got = tiny.encode(prompt, {.layer = -2});
  ASSERT_EQ(got.hidden.shape(), Shape({1, 144, 16}));
  for (size_t i = 0; i < prompt.chunks.size(); ++i) {
    const EncodedPrompt alone = tiny.encode({{prompt.chunks[i]}, {}, {}}, {.layer = -2});
    for (size_t c = 0; c < 12U * 16U; ++c) ASSERT_NEAR(got.hidden.floats()[i * 12 * 16 + c], alone.hidden.floats()[c], 1e-5) << i;
    if (i > 0) continue;
    for (size_t c = 0; c < 16; ++c) ASSERT_NEAR(got.pooled.floats()[c], alone.pooled.floats()[c], 1e-5);
  }
}

TEST(TextEncoder, PutsAnEmbeddingsVectorsInPlaceOfTokens) {
  const Tiny tiny;
  const NaiveEncoder naive(tiny);
  std::vector<float> values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25F * static_cast<float>(i % 7) - 0.5F;
  const Tensor vectors = Tensor::from(Shape({2, 16}), values);
  TokenizedPrompt prompt = prompt_of({words({7}), {{.embedding = 0, .row = 1}}, words({8})});
  prompt.embeddings.push_back({"style", to_dtype(vectors, DType::f16)});
  Rows tokens = naive.token_rows(prompt.chunks[0]);
  tokens[2].assign(values.begin() + 16, values.end());
  expect_rows(tiny.encode(prompt).hidden, 0, naive.final_norm(naive.layers(tokens).back()));
}

TEST(TextEncoder, LeavesOutVectorsOfAnotherWidthWithAWarning) {
  const Tiny tiny;
  TokenizedPrompt prompt = prompt_of({words({7}), {{.embedding = 0}}, words({8}, 1.5)});
  prompt.embeddings.push_back({"style", Tensor::zeros(Shape({1, 24}), DType::f32)});
  const EncodedPrompt got = tiny.encode(prompt);
  EXPECT_THAT(got.warnings, ::testing::ElementsAre(HasSubstr("embedding:style has vectors of shape [1, 24]")));
  const EncodedPrompt without = tiny.encode(prompt_of({words({7}), words({8}, 1.5)}));
  EXPECT_TRUE(std::equal(got.hidden.floats().begin(), got.hidden.floats().end(), without.hidden.floats().begin()));
}

TEST(TextEncoder, WarnsOfAWeightThatIsNotFinite) {
  const Tiny tiny;
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(tiny.encode(prompt_of({words({7}, infinity)})).warnings, SizeIs(1));
  EXPECT_THAT(tiny.encode(prompt_of({words({7}, -infinity)})).warnings, SizeIs(1));
  EXPECT_THAT(tiny.encode(prompt_of({words({7}, 1e300)})).warnings, SizeIs(1));
  EXPECT_THAT(tiny.encode(prompt_of({words({7}, -3)})).warnings, SizeIs(0));
}

TEST(TextEncoder, RefusesWhatDoesNotFit) {
  const Tiny tiny;
  EXPECT_THROW(tiny.encode({}), Error);
  EXPECT_THROW(tiny.encode({{words({48, 1, 49})}, {}, {}}), Error);
  EXPECT_THROW(tiny.encode(prompt_of({words({50})})), Error);
  EXPECT_THROW(tiny.encode(prompt_of({words({-1})})), Error);
  TokenizedPrompt prompt = prompt_of({{{.embedding = 0, .row = 2}}});
  EXPECT_THROW(tiny.encode(prompt), Error);
  prompt.embeddings.push_back({"style", Tensor::zeros(Shape({2, 16}), DType::f32)});
  EXPECT_THROW(tiny.encode(prompt), Error);
}

TEST(TextEncoder, ReadsTablesInTheirStoredDtype) {
  Tiny tiny;
  const TokenizedPrompt prompt = prompt_of({words({1, 2, 3})});
  for (const DType dtype : {DType::f16, DType::bf16}) {
    WeightMap rounded = tiny.weights;
    for (auto& [key, tensor] : tiny.weights) {
      if (!key.ends_with("_embedding.weight")) continue;
      rounded[key] = to_dtype(tensor, dtype);
      tensor = to_dtype(rounded[key], DType::f32);
    }
    const EncodedPrompt want = tiny.encode(prompt);
    Tiny stored = tiny;
    stored.weights = rounded;
    const EncodedPrompt got = stored.encode(prompt);
    EXPECT_TRUE(std::equal(got.hidden.floats().begin(), got.hidden.floats().end(), want.hidden.floats().begin()));
  }
}

TEST(TextEncoder, RunsInBf16) {
  const Tiny tiny;
  const TokenizedPrompt prompt = prompt_of({words({1, 2, 3}, 1.2)});
  const Tensor want = tiny.encode(prompt).hidden;
  const EncodedPrompt got = tiny.encode(prompt, {}, DType::bf16);
  ASSERT_EQ(got.hidden.dtype(), DType::f32);
  for (size_t i = 0; i < want.floats().size(); ++i) ASSERT_NEAR(got.hidden.floats()[i], want.floats()[i], 0.1);
}

TEST(TextEncoder, ProjectsThePooledStateWhereTheKindSaysSo) {
  ClipConfig config = tiny_config();
  config.text_projection = true;
  config.kind.project_pooled = true;
  const Tiny tiny(config);
  const TokenizedPrompt prompt = prompt_of({words({1, 2, 3})});
  const EncodedPrompt got = tiny.encode(prompt);
  const std::span<const float> state = got.hidden.floats().subspan(4 * 16, 16);
  const std::span<const float> matrix = tiny.weights.at("clip_l.transformer.text_projection.weight").floats();
  for (size_t o = 0; o < 16; ++o) {
    double want = 0;
    for (size_t i = 0; i < 16; ++i) want += static_cast<double>(matrix[o * 16 + i]) * static_cast<double>(state[i]);
    ASSERT_NEAR(got.pooled.floats()[o], want, 1e-5);
  }
}

TEST(TextEncoder, PoolsAtAnEndTokenInsideOfThePrompt) {
  const Tiny tiny;
  const EncodedPrompt got = tiny.encode(prompt_of({words({1, 49, 3})}));
  const std::span<const float> state = got.hidden.floats().subspan(2 * 16, 16);
  EXPECT_TRUE(std::equal(state.begin(), state.end(), got.pooled.floats().begin()));
}

TEST(TextEncoder, ShowsTheStateBehindEachLayer) {
  const Tiny tiny;
  const NaiveEncoder naive(tiny);
  const TokenizedPrompt prompt = prompt_of({words({1, 2, 3})});
  const std::vector<Rows> want = naive.layers(naive.token_rows(prompt.chunks[0]));
  std::vector<int> seen;
  EncodeOptions options;
  options.observe = [&](int layer, const Tensor& state) {
    seen.push_back(layer);
    expect_rows(state, 0, want[static_cast<size_t>(layer)]);
  };
  tiny.encode(prompt, options);
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 1, 2));
}

TEST(TextEncoder, StopsWhenItIsCancelled) {
  const Tiny tiny;
  CancelToken cancel;
  EncodeOptions options;
  options.cancel = &cancel;
  options.observe = [&](int, const Tensor&) { cancel.cancel(); };
  try {
    tiny.encode(prompt_of({words({1})}), options);
    FAIL() << "ran to its end";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace veneer::models
