// Group "patches": every patch kind on small weights in f32, f16 and bf16, and fp8 with stochastic rounding.
//
// Expected tensors come from the reference, its faults included, so cases run with PatchCompat::reference; "intended" and the cases that are free of
// a known fault run by the standard meaning too and have to agree.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "golden_set.h"
#include "patch/adapter_file.h"
#include "patch/calculate_weight.h"
#include "patch/kinds/values.h"
#include "tensor/convert.h"
#include "tensor/stochastic_rounding.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using nlohmann::json;
using patch::PatchCompat;

// A model key always ends like this in adapters of files.
constexpr const char* kKey = "layer.weight";

patch::WeightFunction function_named(const std::string& name) {
  const auto each = [&](auto f) {
    return patch::WeightFunction{name, [f](std::span<float> values) { std::transform(values.begin(), values.end(), values.begin(), f); }};
  };
  if (name == "half") return each([](float a) { return 0.5F * a; });
  if (name == "abs") return each([](float a) { return std::fabs(a); });
  if (name == "neg_plus") return each([](float a) { return 0.01F - a; });
  if (name == "clamp") return each([](float a) { return std::clamp(a, -0.05F, 0.05F); });
  if (name == "double") return each([](float a) { return 2.0F * a; });
  if (name == "identity") return each([](float a) { return a; });
  throw Error(ErrorCode::unsupported, "goldens: unknown function", {{"name", name}});
}

// The value of a set of file tensors: inputs "SET/<suffix>".
patch::PatchValuePtr value_from_file(const Case& c, const std::string& set, PatchCompat compat) {
  patch::AdapterTensors tensors;
  for (const auto& [role, name] : c.description().at("inputs").items()) {
    if (role.starts_with(set + "/")) tensors["layer." + role.substr(set.size() + 1)] = c.input(role);
  }
  patch::KeyMap map;
  map.add("layer", kKey);
  auto report = patch::load_adapter(tensors, map, {}, {compat});
  return report.patches[kKey];
}

std::vector<patch::PatchRecord> records_of(const Case& c, const json& list, PatchCompat compat);

patch::PatchValuePtr value_of(const Case& c, const json& p, PatchCompat compat) {
  const std::string kind = p.at("kind");
  if (p.contains("lora")) return value_from_file(c, p.at("lora"), compat);
  if (kind == "diff") return patch::make_diff(c.input(p.at("tensor").get<std::string>()), p.value("pad_weight", false));
  if (kind == "set") return patch::make_set(c.input(p.at("tensor").get<std::string>()));
  if (kind == "model_as_lora") {
    return patch::make_model_as_lora(c.input(p.at("tensor").get<std::string>()), c.input(p.at("original").get<std::string>()));
  }
  if (kind == "nested") {
    const std::string convert = p.value("convert", "identity");
    return patch::make_nested(c.input(p.at("base").get<std::string>()), function_named(convert), records_of(c, p.at("patches"), compat));
  }
  throw Error(ErrorCode::unsupported, "goldens: unknown patch kind", {{"kind", kind}});
}

std::vector<patch::PatchRecord> records_of(const Case& c, const json& list, PatchCompat compat) {
  std::vector<patch::PatchRecord> records;
  for (const json& p : list) {
    patch::PatchRecord record;
    record.strength_patch = p.at("strength");
    record.strength_model = p.at("strength_model");
    record.value = value_of(c, p, compat);
    if (const json& offset = p.at("offset"); !offset.is_null()) record.offset = patch::Offset{offset[0], offset[1], offset[2]};
    if (const json& function = p.at("function"); !function.is_null()) record.function = function_named(function);
    if (!record.value) throw Error(ErrorCode::invalid, "goldens: the case's file tensors make no patch", {{"case", c.name()}});
    records.push_back(std::move(record));
  }
  return records;
}

// Whether a known fault of the reference, or its handling of what does not fit, shows in the result: docs/patch-kinds.md.
bool reference_differs(const json& list, const Case& c) {
  for (const json& p : list) {
    const std::string kind = p.at("kind");
    const bool zero_strength = p.at("strength").get<double>() == 0;
    if (kind == "oft" || kind == "boft" || zero_strength) return true;
    if (p.contains("lora") && c.has_input(p.at("lora").get<std::string>() + "/dora_scale")) return true;
    if (p.contains("patches") && reference_differs(p.at("patches"), c)) return true;
  }
  return false;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
}

// "result_f16" -> f16 and so on; f32 without such an ending.
DType dtype_of_role(const std::string& role) {
  if (role.ends_with("_f16")) return DType::f16;
  if (role.ends_with("_bf16")) return DType::bf16;
  return DType::f32;
}

void run_patches(Case& c) {
  const json& list = c.params().at("patches");
  const std::string key = c.params().at("key");
  const auto records = records_of(c, list, PatchCompat::reference);
  const Tensor weight = c.input("weight");
  std::vector<std::string> skipped;
  Tensor result;
  for (const std::string& role : c.output_roles()) {
    const Tensor base = to_dtype(weight, dtype_of_role(role));
    patch::CalculateOptions options;
    options.compat = role == "intended" ? PatchCompat::standard : PatchCompat::reference;
    options.working = role.starts_with("lowvram") ? base.dtype() : DType::f32;
    options.skipped = &skipped;
    const Tensor got = patch::calculate_weight(base, records, key, options);
    c.check(role, got);
    if (role == "result") result = got;
  }
  const json& expect = c.expect();
  const size_t logged = expect.value("logged", json::array()).size();
  c.require(skipped.size() == logged, "skipped records: " + std::to_string(skipped.size()) + ", want " + std::to_string(logged));
  if (!result.defined()) return;
  c.require(expect.value("unchanged", false) == same_bytes(result, weight), "unchanged differs");
  if (expect.contains("shape")) {
    const auto dims = expect.at("shape").get<std::vector<int64_t>>();
    c.require(result.shape() == Shape(std::span<const int64_t>(dims)), "shape: " + result.shape().to_string());
  }
  if (logged == 0 && !reference_differs(list, c)) {
    const Tensor standard = patch::calculate_weight(weight, records_of(c, list, PatchCompat::standard), key, {});
    c.require(same_bytes(standard, result), "the standard meaning differs from the reference's");
  }
}

DType fp8_named(const std::string& name) { return dtype_from_string("f8_" + name); }

// Bytes of fp8, where one NaN is as good as another.
size_t differing(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return SIZE_MAX;
  const Tensor x = to_dtype(a, DType::f32), y = to_dtype(b, DType::f32);
  size_t count = 0;
  for (size_t i = 0; i < a.size_bytes(); ++i) {
    const bool both_nan = std::isnan(x.floats()[i]) && std::isnan(y.floats()[i]);
    count += a.bytes()[i] != b.bytes()[i] && !both_nan;
  }
  return count;
}

void check_rounding(Case& c, const Tensor& value, DType dtype, uint64_t seed) {
  const Tensor want = c.expected("result");
  c.require(differing(stochastic_round(value, dtype, seed), want) == 0, "result: bytes differ with draws from the seed");
  if (c.has_input("uniform")) {
    const Tensor uniform = to_dtype(c.input("uniform"), DType::f32);
    c.require(differing(stochastic_round(value, dtype, uniform.floats()), want) == 0, "result: bytes differ with the given draws");
  }
}

void run_fp8_patch(Case& c) {
  const DType dtype = fp8_named(c.params().at("dtype"));
  const std::string key = c.params().at("key");
  const uint64_t seed = c.params().at("seed");
  c.require(string_to_seed(key) == seed, "seed of the key differs");
  const auto records = records_of(c, c.params().at("patches"), PatchCompat::reference);
  const Tensor base = to_dtype(c.input("weight"), dtype);
  patch::CalculateOptions options;
  options.compat = PatchCompat::reference;
  const Tensor rounded = patch::calculate_weight(base, records, key, options);
  options.result = DType::f32;
  c.check("patched_f32", patch::calculate_weight(base, records, key, options));
  check_rounding(c, c.expected("patched_f32"), dtype, seed);
  const size_t different = differing(rounded, c.expected("result"));
  c.require(different * 100 <= rounded.size_bytes(), "result: " + std::to_string(different) + " elements differ");
  c.mark_checked("result");
}

void run_case(Case& c) {
  const json& params = c.params();
  if (params.contains("strings")) {
    std::vector<uint32_t> seeds;
    for (const auto& text : params.at("strings")) seeds.push_back(string_to_seed(text.get<std::string>()));
    c.require(json(seeds) == c.expect().at("seeds"), "seeds differ");
  } else if (params.contains("patches") && params.contains("dtype")) {
    run_fp8_patch(c);
  } else if (params.contains("patches")) {
    run_patches(c);
  } else {
    check_rounding(c, c.input("value"), fp8_named(params.at("dtype")), params.at("seed"));
    c.mark_checked("result");
  }
}

}  // namespace

Runner make_patches_runner(const Group&) { return run_case; }

}  // namespace veneer::goldens
