#include "engine/convert_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "engine/convert_select.h"
#include "engine/convert_stream.h"
#include "formats/scaled_fp8.h"
#include "tensor/quantised_blocks.h"

namespace veneer::engine {
namespace {

using formats::ModelFile;
using formats::PutBytes;
using formats::TargetFormat;
using formats::TensorStream;
using Tensors = std::map<std::string, Tensor, std::less<>>;

constexpr auto kDTypes = std::to_array<DType>({DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2});
constexpr std::string_view kScaledFp8 = "fp8_scaled", kWeight = ".weight";
constexpr auto kBlocks = std::to_array<DType>(
    {DType::q8_0, DType::q6_k, DType::q5_k, DType::q5_1, DType::q5_0, DType::q4_k, DType::q4_1, DType::q4_0, DType::q3_k, DType::q2_k});
constexpr const char* kQuantised = "q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4_0, q3_k, q2_k";

// What takes the place of blocks of 256 in rows that are whole blocks of 32 only: the next with as many bits or more.
struct Fallback {
  DType dtype, instead;
};
constexpr auto kFallbacks = std::to_array<Fallback>(
    {{DType::q6_k, DType::q8_0}, {DType::q5_k, DType::q5_1}, {DType::q4_k, DType::q4_1}, {DType::q3_k, DType::q4_0}, {DType::q2_k, DType::q4_0}});

bool is_fp8(DType dtype) { return dtype == DType::f8_e4m3fn || dtype == DType::f8_e5m2; }

std::optional<DType> wanted_dtype(const ConvertRequest& request) {
  if (request.dtype.empty()) return std::nullopt;
  for (const DType dtype : kDTypes) {
    if (request.dtype == to_string(dtype)) return dtype;
  }
  throw Error(ErrorCode::invalid, "convert: no such dtype to convert to",
              {{"dtype", request.dtype}, {"allowed", "f32, f16, bf16, f8_e4m3fn, f8_e5m2"}});
}

std::optional<DType> blocks_called(const std::string& name) {
  const auto* const found = std::ranges::find_if(kBlocks, [&](DType dtype) { return name == to_string(dtype); });
  return found != kBlocks.end() ? std::optional(*found) : std::nullopt;
}

// nullopt for none and for fp8_scaled.
std::optional<DType> wanted_blocks(const ConvertRequest& request, TargetFormat format) {
  if (request.quantise.empty()) return std::nullopt;
  const auto refuse = [&](const char* text, const char* allowed) {
    return Error(ErrorCode::invalid, text, {{"quantise", request.quantise}, {"target", request.target}, {"allowed", allowed}});
  };
  const std::optional<DType> blocks = blocks_called(request.quantise);
  const std::string all = std::string(kQuantised) + ", " + std::string(kScaledFp8);
  if (!blocks && request.quantise != kScaledFp8) throw refuse("convert: no such quantisation", all.c_str());
  if (blocks && format != TargetFormat::gguf) throw refuse("convert: blocks need a target that ends with .gguf", "fp8_scaled");
  if (!blocks && format == TargetFormat::gguf) throw refuse("convert: fp8 has no place in GGUF", kQuantised);
  return blocks;
}

class Planner {
 public:
  Planner(const ConvertRequest& request, const ModelFile& file)
      : file_(file), tensors_(formats::tensors_with_scales(file)), dtype_(wanted_dtype(request)), fp8_scaled_(request.quantise == kScaledFp8) {
    out_.format = request.target.ends_with(".gguf") ? TargetFormat::gguf : TargetFormat::safetensors;
    blocks_ = wanted_blocks(request, out_.format);
    if (out_.format == TargetFormat::gguf && dtype_ && !formats::gguf_holds(*dtype_)) {
      throw Error(ErrorCode::invalid, "convert: fp8 has no place in GGUF", {{"dtype", request.dtype}, {"allowed", "f32, f16, bf16"}});
    }
  }

  ConversionPlan plan(const Selection& selection) {
    out_.num_left_out = selection.num_left_out;
    for (const SelectedTensor& selected : selection.tensors) add(selected);
    if (fp8_scaled_ && scaled_any_) add_marker();
    // Stable: tensors of one size stay in the order of the source.
    const auto unit = [](const TensorStream& tensor) { return is_quantised(tensor.dtype) ? size_t{1} : size_of(tensor.dtype); };
    std::stable_sort(out_.tensors.begin(), out_.tensors.end(), [&](const TensorStream& a, const TensorStream& b) { return unit(a) > unit(b); });
    return std::move(out_);
  }

 private:
  void add(const SelectedTensor& selected) {
    const auto found = tensors_.find(selected.source);
    if (found == tensors_.end()) {  // a companion of scaled fp8: stays with a weight that stays as it is
      if (keeps_companions()) add_stream(selected.target, file_.tensor(selected.source), file_.tensor(selected.source).dtype());
      return;
    }
    const Tensor& tensor = found->second;
    if (fp8_scaled_ && is_matrix(tensor) && selected.target.ends_with(kWeight)) {
      add_scaled(selected.target, tensor);
      return;
    }
    // With its companions beside it the stored bytes are what is copied.
    const bool raw = keeps_companions() && is_fp8(tensor.dtype());
    add_stream(selected.target, raw ? file_.tensor(selected.source) : tensor, raw ? tensor.dtype() : target_dtype(tensor));
  }

  bool keeps_companions() const { return !dtype_ && !fp8_scaled_ && !blocks_ && out_.format == TargetFormat::safetensors; }

  static bool is_matrix(const Tensor& tensor) { return is_floating(tensor.dtype()) && tensor.rank() >= 2 && tensor.num_elements() > 0; }

  static bool fits_rows(const Tensor& tensor, DType blocks) {
    return static_cast<uint64_t>(tensor.dim(tensor.rank() - 1)) % block_size(blocks).elements == 0;
  }

  DType target_dtype(const Tensor& tensor) const {
    if (!is_floating(tensor.dtype())) return tensor.dtype();
    if (blocks_ && is_matrix(tensor)) {
      const auto* const fallback = std::ranges::find(kFallbacks, *blocks_, &Fallback::dtype);
      if (fits_rows(tensor, *blocks_)) return *blocks_;
      if (fallback != kFallbacks.end() && fits_rows(tensor, fallback->instead)) return fallback->instead;
    }
    if (dtype_) return *dtype_;
    if (tensor.scale() != 1) return DType::f32;
    // What the format has no place for, in the smallest dtype that holds it exactly.
    if (out_.format == TargetFormat::gguf) return is_fp8(tensor.dtype()) ? DType::f16 : tensor.dtype();
    return tensor.plain_dtype();
  }

  void add_stream(const std::string& name, const Tensor& tensor, DType dtype) {
    if (dtype != tensor.dtype() || tensor.scale() != 1) ++out_.num_converted;
    // A tensor that had to be copied out of the file is made again when it is written, so that only one is in memory.
    const bool mapped = file_.place(tensor).has_value();
    const std::string source = mapped ? std::string() : source_of(tensor);
    out_.tensors.push_back(
        {name, dtype, tensor.shape(), [file = file_, tensor = mapped ? tensor : Tensor(), source, dtype, name](const PutBytes& put) {
           stream_as(file, tensor.defined() ? tensor : file.tensor(source), dtype, name, put);
         }});
  }

  // The scale maps the largest value to the top of fp8's range.
  void add_scaled(const std::string& name, const Tensor& tensor) {
    constexpr float kTop = 448;
    const float largest = largest_magnitude(file_, tensor);
    const float scale = largest > 0 ? largest / kTop : 1;
    out_.tensors.push_back({name, DType::f8_e4m3fn, tensor.shape(),
                            [file = file_, tensor, scale, name](const PutBytes& put) { stream_scaled_fp8(file, tensor, scale, name, put); }});
    const std::string companion = name.substr(0, name.size() - kWeight.size()) + ".scale_weight";
    out_.tensors.push_back({companion, DType::f32, Shape(), [scale](const PutBytes& put) { put(std::as_bytes(std::span(&scale, 1))); }});
    ++out_.num_converted;
    scaled_any_ = true;
  }

  // Two elements: weights are scaled, products are not to be computed in fp8.
  void add_marker() {
    out_.tensors.push_back({"scaled_fp8", DType::f8_e4m3fn, Shape({2}), [](const PutBytes& put) {
                              constexpr std::array<std::byte, 2> kZeros{};
                              put(kZeros);
                            }});
  }

  std::string source_of(const Tensor& tensor) const {
    for (const auto& [name, known] : tensors_) {
      if (known.bytes() == tensor.bytes()) return name;
    }
    throw Error(ErrorCode::internal, "convert: tensor is not of the file", {{"file", file_.name()}});
  }

  const ModelFile file_;
  Tensors tensors_;
  std::optional<DType> dtype_, blocks_;
  bool fp8_scaled_ = false;
  bool scaled_any_ = false;
  ConversionPlan out_;
};

}  // namespace

ConversionPlan plan_conversion(const ConvertRequest& request, const formats::ModelFile& file) {
  return Planner(request, file).plan(select_tensors(file, request.extract, request.prune_ema, request.strip));
}

}  // namespace veneer::engine
