#include "golden_set.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw Error(ErrorCode::not_found, "goldens: cannot open", {{"file", path.string()}});
  return nlohmann::json::parse(in);
}

std::string at(const Shape& shape, int64_t flat) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[static_cast<size_t>(d)] = flat % shape[d];
    flat /= shape[d];
  }
  std::string out = "[";
  for (size_t d = 0; d < index.size(); ++d) out.append(d > 0 ? "," : "").append(std::to_string(index[d]));
  return out + "]";
}

std::vector<double> as_doubles(const Tensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.num_elements()));
  const Tensor source = tensor.aligned() ? tensor : tensor.clone();
  switch (tensor.dtype()) {
    case DType::f64: std::memcpy(out.data(), source.bytes(), source.size_bytes()); break;
    case DType::i64:
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(source.data<int64_t>()[i]);
      break;
    case DType::i32:
      for (size_t i = 0; i < out.size(); ++i) out[i] = source.data<int32_t>()[i];
      break;
    case DType::u8:
    case DType::boolean:
      for (size_t i = 0; i < out.size(); ++i) out[i] = source.data<uint8_t>()[i];
      break;
    default: {
      const Tensor f = to_dtype(source, DType::f32);
      for (size_t i = 0; i < out.size(); ++i) out[i] = f.floats()[i];
    }
  }
  return out;
}

const nlohmann::json kNull;

}  // namespace

Case::Case(const Group& group, const nlohmann::json& description)
    : group_(group), description_(description), name_(description.at("name").get<std::string>()) {}

const nlohmann::json& Case::expect() const { return description_.contains("expect") ? description_.at("expect") : kNull; }

bool Case::has_input(std::string_view role) const { return description_.at("inputs").contains(std::string(role)); }

Tensor Case::input(std::string_view role) const {
  if (!has_input(role)) throw Error(ErrorCode::not_found, "goldens: case has no such input", {{"case", name_}, {"input", std::string(role)}});
  return group_.tensor(description_.at("inputs").at(std::string(role)).get<std::string>());
}

bool Case::has_output(std::string_view role) const { return description_.at("outputs").contains(std::string(role)); }

Tensor Case::expected(std::string_view role) const { return group_.tensor(description_.at("outputs").at(std::string(role)).get<std::string>()); }

std::vector<std::string> Case::output_roles() const {
  std::vector<std::string> roles;
  for (const auto& [role, name] : description_.at("outputs").items()) roles.push_back(role);
  return roles;
}

Tolerance Case::tolerance(std::string_view role) const {
  const nlohmann::json* t = &description_.at("tolerance");
  if (t->contains("per_output") && t->at("per_output").contains(std::string(role))) t = &t->at("per_output").at(std::string(role));
  Tolerance out;
  out.exact = t->value("kind", "abs") == "exact";
  out.atol = t->value("atol", 0.0);
  out.rtol = t->value("rtol", 0.0);
  return out;
}

void Case::check(std::string_view role, const Tensor& got) {
  checked_.emplace(role);
  const Tensor want = expected(role);
  if (got.shape() != want.shape()) {
    failures_.push_back(std::string(role) + ": shape " + got.shape().to_string() + ", expected " + want.shape().to_string());
    return;
  }
  const Tolerance limit = tolerance(role);
  const std::vector<double> a = as_doubles(got);
  const std::vector<double> b = as_doubles(want);
  size_t wrong = 0;
  size_t worst = 0;
  double worst_excess = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    const bool same = a[i] == b[i] || both_nan;
    const double difference = std::abs(a[i] - b[i]);
    const bool ok = same || (!limit.exact && difference <= limit.atol + limit.rtol * std::abs(b[i]));
    if (ok) continue;
    ++wrong;
    const double excess = std::isnan(difference) ? HUGE_VAL : difference;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (wrong == 0) return;
  std::ostringstream text;
  text.precision(9);
  text << role << ": " << wrong << " of " << a.size() << " elements differ, worst at " << at(want.shape(), static_cast<int64_t>(worst)) << ": got "
       << a[worst] << ", expected " << b[worst] << (limit.exact ? " (exact)" : "");
  if (!limit.exact) text << " (atol " << limit.atol << ", rtol " << limit.rtol << ")";
  failures_.push_back(text.str());
}

void Case::mark_checked(std::string_view role) { checked_.emplace(role); }

void Case::require(bool ok, const std::string& what) {
  if (!ok) failures_.push_back(what);
}

std::vector<std::string> Case::unchecked() const {
  std::vector<std::string> out;
  for (const std::string& role : output_roles()) {
    if (!checked_.contains(role)) out.push_back(role);
  }
  return out;
}

std::unique_ptr<Group> Group::open(const std::filesystem::path& folder, const std::string& name) {
  auto group = std::make_unique<Group>();
  group->name_ = name;
  group->root_ = folder;
  group->manifest_ = read_json(folder / name / "manifest.json");
  for (const auto& file : group->manifest_.value("files", nlohmann::json::array())) {
    group->files_.push_back(formats::ModelFile::open(folder / name / file.get<std::string>()));
  }
  return group;
}

bool Group::has_tensor(std::string_view name) const {
  for (const auto& file : files_) {
    if (file.contains(name)) return true;
  }
  return false;
}

Tensor Group::tensor(std::string_view name) const {
  for (const auto& file : files_) {
    if (file.contains(name)) {
      const Tensor tensor = file.tensor(name);
      return tensor.aligned() ? tensor : tensor.clone();
    }
  }
  throw Error(ErrorCode::not_found, "goldens: no such tensor", {{"group", name_}, {"tensor", std::string(name)}});
}

formats::ModelFile Group::model(const std::string& name) const { return formats::ModelFile::open(root_ / "models" / (name + ".safetensors")); }

nlohmann::json Group::model_config(const std::string& name) const { return read_json(root_ / "models" / (name + ".json")); }

}  // namespace veneer::goldens
