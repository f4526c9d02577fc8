#include "server/compat/variant_book.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "engine/written_file.h"
#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

NamedVariant read_variant(const Json& json) {
  NamedVariant out;
  out.name = json.at("name").get<std::string>();
  out.parent = json.at("parent").get<std::string>();
  for (const Json& adapter : json.at("adapters"))
    out.adapters.emplace_back(adapter.at("name").get<std::string>(), adapter.at("strength").get<double>());
  out.fingerprint = json.at("fingerprint").get<std::string>();
  out.created_s = json.at("created").get<int64_t>();
  return out;
}

Json write_variant(const NamedVariant& variant) {
  Json adapters = Json::array();
  for (const auto& [name, strength] : variant.adapters) adapters.push_back({{"name", name}, {"strength", strength}});
  return {{"name", variant.name},
          {"parent", variant.parent},
          {"adapters", adapters},
          {"fingerprint", variant.fingerprint},
          {"created", variant.created_s}};
}

}  // namespace

VariantBook::VariantBook(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream in(file_, std::ios::binary);
  if (!in) return;
  std::stringstream text;
  text << in.rdbuf();
  try {
    for (const Json& json : graph::parse_json(text.str())) variants_.push_back(read_variant(json));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::corrupt, "the file of variants cannot be read", {{"file", file_.string()}, {"reason", error.what()}});
  }
}

void VariantBook::add(const NamedVariant& variant) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(variants_, variant.name, &NamedVariant::name);
  if (at != variants_.end()) {
    if (at->parent == variant.parent && at->adapters == variant.adapters) return;
    throw HttpError(409, "conflict", "Another variant has this name", variant.name);
  }
  std::vector<NamedVariant> changed = variants_;
  changed.push_back(variant);
  replace(std::move(changed));
}

void VariantBook::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(variants_, name, &NamedVariant::name);
  if (at == variants_.end()) throw HttpError(404, "not_found", "There is no such variant", name);
  std::vector<NamedVariant> changed = variants_;
  changed.erase(changed.begin() + (at - variants_.begin()));
  replace(std::move(changed));
}

void VariantBook::replace(std::vector<NamedVariant> variants) {
  Json list = Json::array();
  for (const NamedVariant& variant : variants) list.push_back(write_variant(variant));
  engine::write_whole(file_, list.dump(2));  // first: what could not be written has not happened
  variants_ = std::move(variants);
}

std::optional<NamedVariant> VariantBook::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(variants_, name, &NamedVariant::name);
  return at == variants_.end() ? std::nullopt : std::optional(*at);
}

std::vector<NamedVariant> VariantBook::all() const {
  const std::lock_guard lock(mutex_);
  return variants_;
}

}  // namespace veneer::server
