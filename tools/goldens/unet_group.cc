// unet: forwards of models/unet.safetensors, plain, with every kind of patch of the transformer options, and with control signals.
#include <algorithm>
#include <cmath>

#include "golden_set.h"
#include "models/family/checkpoint.h"
#include "network_set.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using models::ControlSignals;
using variant::AttentionInputs;
using variant::BlockAndSkip;
using variant::BlockPosition;
using variant::PatchCall;
using variant::QKV;
using variant::TransformerOptions;

// x * factor + offset.
Tensor scaled(const Tensor& x, float factor, float offset = 0) {
  Tensor out = Tensor::empty(x.shape(), DType::f32);
  std::transform(x.floats().begin(), x.floats().end(), out.mutable_data<float>(), [&](float v) { return v * factor + offset; });
  return out;
}

// 0.5 * q + k * the mean of v over the tokens.
Tensor mean_attention(const QKV& qkv, float k) {
  Tensor out = scaled(qkv.q, 0.5F);
  const int64_t channels = out.dim(2);
  for (int64_t b = 0; b < out.dim(0); ++b) {
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t t = 0; t < qkv.v.dim(1); ++t) sum += static_cast<double>(qkv.v.data<float>()[(b * qkv.v.dim(1) + t) * channels + c]);
      const float mean = static_cast<float>(sum / static_cast<double>(qkv.v.dim(1)));
      for (int64_t t = 0; t < out.dim(1); ++t) out.mutable_data<float>()[(b * out.dim(1) + t) * channels + c] += k * mean;
    }
  }
  return out;
}

std::vector<BlockPosition> positions_of(const nlohmann::json& params) {
  std::vector<BlockPosition> out;
  for (const auto& block : params.value("blocks", nlohmann::json::array())) {
    out.push_back({block.at(0).get<std::string>(), block.at(1).get<int>(), block.at(2).is_null() ? -1 : block.at(2).get<int>()});
  }
  return out;
}

// The patch functions that the manifest's notes define.
void add_patch(TransformerOptions& options, const std::string& kind, float k, const std::vector<BlockPosition>& positions) {
  if (kind == "attn1_patch") {
    options.attn1_patch.push_back({{}, [k](const AttentionInputs& in, const PatchCall&) {
                                     return AttentionInputs{scaled(in.n, k), scaled(in.context, 2 - k), scaled(in.value, 1.25F)};
                                   }});
  } else if (kind == "attn2_patch") {
    options.attn2_patch.push_back({{}, [k](const AttentionInputs& in, const PatchCall&) {
                                     return AttentionInputs{scaled(in.n, 2 - k), scaled(in.context, k), scaled(in.value, 0.75F)};
                                   }});
  } else if (kind == "attn1_output_patch") {
    options.attn1_output_patch.push_back({{}, [k](const Tensor& n, const PatchCall&) { return scaled(n, k); }});
  } else if (kind == "attn2_output_patch") {
    options.attn2_output_patch.push_back({{}, [k](const Tensor& n, const PatchCall&) { return scaled(n, (1 + k) / 2, 0.01F); }});
  } else if (kind == "attn1_replace" || kind == "attn2_replace") {
    auto& replace = kind == "attn1_replace" ? options.attn1_replace : options.attn2_replace;
    for (const BlockPosition& position : positions)
      replace[position] = {{}, [k](const QKV& qkv, const PatchCall&) { return mean_attention(qkv, k); }};
  } else if (kind == "input_block_patch") {
    options.input_block_patch.push_back(
        {{}, [k](const Tensor& h, const PatchCall& call) { return call.position.block_index == 1 ? scaled(h, k) : h; }});
  } else if (kind == "input_block_patch_after_skip") {
    options.input_block_patch_after_skip.push_back(
        {{}, [](const Tensor& h, const PatchCall& call) { return call.position.block_index == 2 ? scaled(h, 0.8F) : h; }});
  } else if (kind == "output_block_patch") {
    options.output_block_patch.push_back({{}, [k](const BlockAndSkip& in, const PatchCall& call) {
                                            const int index = call.position.block_index;
                                            return index == 0 || index == 2 ? BlockAndSkip{scaled(in.h, k), scaled(in.skip, 1.1F)} : in;
                                          }});
  } else if (kind == "middle_patch") {
    options.middle_patch.push_back({{}, [k](const Tensor& x, const PatchCall&) { return scaled(x, k); }});
  } else if (kind == "emb_patch") {
    options.emb_patch.push_back({{}, [k](const Tensor& emb, const PatchCall&) { return scaled(emb, k); }});
  } else {
    throw Error(ErrorCode::unsupported, "goldens: unknown kind of patch", {{"kind", kind}});
  }
}

std::vector<Tensor> signals_of(const Case& golden, const std::string& list) {
  std::vector<Tensor> out;
  const std::string stem = "control_" + list + "_";
  for (const auto& [role, name] : golden.description().at("inputs").items()) {
    if (!role.starts_with(stem)) continue;
    const size_t index = std::stoul(role.substr(stem.size()));
    out.resize(std::max(out.size(), index + 1));
    out[index] = golden.input(role);
  }
  return out;
}

}  // namespace

Runner make_unet_runner(const Group& group) {
  const models::LoadedUnet unet = models::load_unet(models::tensors_of(group.model("unet")), "unet.safetensors");
  if (group.model_config("unet").value("num_heads", 8) != unet.network->config().heads.heads) {
    throw Error(ErrorCode::unsupported, "goldens: the model has another number of heads than its family");
  }
  auto base = std::make_shared<variant::ModelPatcher>(f32_variant(unet.base));
  return [unet, base](Case& golden) {
    variant::ModelPatcher variant = base->clone();
    TransformerOptions options;
    const std::vector<BlockPosition> positions = positions_of(golden.params());
    for (const auto& kind : golden.params().value("patches", std::vector<std::string>())) {
      add_patch(options, kind, golden.params().value("k", 1.0F), positions);
    }
    variant.set_transformer_options(std::move(options));

    const ControlSignals control{signals_of(golden, "input"), signals_of(golden, "middle"), signals_of(golden, "output")};
    models::UnetCallExtras extras;
    extras.control = &control;
    extras.observe = [&](const std::string& block, const Tensor& h) {
      if (golden.has_output(block)) golden.check(block, planar(h));
    };
    const Tensor timesteps = golden.input("timesteps");
    compute::Context context;
    const auto view = variant.open_view();
    const Tensor eps = unet.network->forward(*view, context, golden.input("x"), timesteps.floats(), golden.input("context"), extras);
    golden.check("eps", eps);
  };
}

}  // namespace veneer::goldens
