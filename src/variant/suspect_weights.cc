#include "variant/suspect_weights.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "patch/blame.h"
#include "patch/calculate_weight.h"
#include "tensor/largest_magnitude.h"

namespace veneer::variant {
namespace {

// Adapters in use change the largest value of a weight by a few times at most.
constexpr double kSuspicious = 16;

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

std::set<std::string> patched_keys(const Description& description) {
  std::set<std::string> keys;
  for (const PatchMap* map : {description.patches.get(), description.hook_patches.get()}) {
    for (const auto& [key, records] : *map) keys.insert(key);
  }
  return keys;
}

// With values that are not finite as infinity: the worst there is.
double magnitude_of(const Tensor& weight) {
  const auto magnitude = static_cast<double>(largest_magnitude(weight));
  return std::isfinite(magnitude) ? magnitude : std::numeric_limits<double>::infinity();
}

double patched_magnitude(const Description& description, const std::string& key, std::span<const patch::PatchRecord> records) {
  patch::CalculateOptions options;
  options.result = DType::f32;
  options.compat = description.runtime->compat;
  options.check_finite = false;
  return magnitude_of(patch::calculate_weight(description.model->weight(key), records, key, options));
}

// Alone on the weight, so that each is looked at once.
const patch::PatchRecord& strongest(const Description& description, const std::string& key, std::span<const patch::PatchRecord> records) {
  const patch::PatchRecord* worst = &records.front();
  double most = -1;
  for (const patch::PatchRecord& record : records) {
    const double magnitude = patched_magnitude(description, key, std::span(&record, 1));
    if (magnitude <= most) continue;
    most = magnitude;
    worst = &record;
  }
  return *worst;
}

void add_origin(Error::Context& context, const patch::PatchValue& value) {
  const Error named = patch::with_origin(Error(ErrorCode::invalid, ""), value);
  for (const char* name : {"file", "tensor"}) {
    if (!named.find(name).empty()) context.emplace_back(name, named.find(name));
  }
}

Error::Context broken_base(const BaseModel& model) {
  for (const auto& [key, weight] : model.weights()) {
    if (is_floating(weight.dtype()) && !std::isfinite(largest_magnitude(weight))) return {{"file", model.source_name()}, {"tensor", key}};
  }
  return {};
}

}  // namespace

Error::Context suspects(const Description& description) {
  std::string worst;
  double most = kSuspicious, before = 0, after = 0;
  for (const std::string& key : patched_keys(description)) {
    const double base = magnitude_of(description.model->weight(key));
    if (!std::isfinite(base)) continue;
    const double patched = patched_magnitude(description, key, description.all_records(key, Description::Hooked::yes));
    // Weights of zeros, as new layers have, are compared with what others have.
    constexpr double kUsual = 1;
    if (const double growth = patched / (base > 0 ? base : kUsual); growth > most) {
      most = growth;
      before = base;
      after = patched;
      worst = key;
    }
    if (std::isinf(most)) break;  // nothing grows more
  }
  if (worst.empty()) return broken_base(*description.model);
  const auto records = description.all_records(worst, Description::Hooked::yes);
  const patch::PatchRecord& record = strongest(description, worst, records);
  Error::Context out;
  add_origin(out, *record.value);
  out.emplace_back("key", worst);
  out.emplace_back("kind", record.value->kind());
  out.emplace_back("strength", number(record.strength_patch));
  out.emplace_back("largest value of the base's weight", number(before));
  out.emplace_back("of the patched weight", number(after));
  return out;
}

Error with_reshaped_weight(const Error& error, const Description& description) {
  if (error.code() != ErrorCode::invalid || !error.find("file").empty()) return error;
  const std::string_view named = error.find("key");
  for (const std::string& key : patched_keys(description)) {
    if (!named.empty() && named != key) continue;
    const Shape& base = description.model->weight(key).shape();
    for (const patch::PatchRecord& record : description.all_records(key, Description::Hooked::yes)) {
      if (record.strength_patch == 0 || record.offset || record.value->shape_after(base) == base) continue;
      Error whole = patch::with_origin(error, *record.value);
      if (named.empty()) whole = whole.with("key", key);
      return whole.with("shape of the base's weight", base.to_string()).with("of the patched weight", record.value->shape_after(base).to_string());
    }
  }
  return error;
}

}  // namespace veneer::variant
