// /v1/models, /v1/load_lora_adapter, /v1/unload_lora_adapter: variants as models.
#include <ctime>

#include "engine/describe_variant.h"
#include "server/compat/members.h"
#include "server/compat/picture_request.h"
#include "server/compat/routes.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

constexpr Members::Style kStyle{400, "invalid_request", false};
constexpr double kMostStrength = 100;  // LoraLoader's range

Json model_json(const std::string& id, const std::string& parent, int64_t created) {
  return {{"id", id},           {"object", "model"},
          {"created", created}, {"owned_by", "veneer"},
          {"root", parent},     {"parent", parent == id ? Json() : Json(parent)}};
}

Json variant_json(const NamedVariant& variant) {
  Json json = model_json(variant.name, variant.parent, variant.created_s);
  json["fingerprint"] = variant.fingerprint;
  for (const auto& [name, strength] : variant.adapters) json["adapters"].push_back({{"name", name}, {"strength", strength}});
  return json;
}

Response list_models(const Services& services, const VariantBook& book) {
  Json data = Json::array();
  for (const engine::ModelFileInfo& file : services.models.files("checkpoints")) {
    data.push_back(model_json(file.name, file.name, static_cast<int64_t>(file.created)));
  }
  for (const NamedVariant& variant : book.all()) data.push_back(variant_json(variant));
  return json_response(Json{{"object", "list"}, {"data", data}});
}

// One adapter by lora_path (or several in `adapters`) on `base_model`.
NamedVariant read_variant(const Json& body, const Services& services, const VariantBook& book) {
  const Members members(body, kStyle);
  NamedVariant out;
  out.name = members.text("lora_name");
  if (out.name.empty() || out.name.size() > 200) members.refuse("lora_name", "must be text of 1 to 200 bytes");
  const std::string base = members.text("base_model");
  if (const auto parent = book.find(base)) {
    out.parent = parent->parent;
    out.adapters = parent->adapters;
  } else {
    out.parent = checkpoint_name(services, base);
  }
  if (const Json* list = members.find("adapters")) {
    const char* rule = "must be a list of objects with name and strength";
    if (!list->is_array()) members.refuse("adapters", rule);
    if (list->size() > kMaxAdapters) members.refuse("adapters", "must be at most 64: a model takes no more");
    for (size_t i = 0; i < list->size(); ++i) {
      if (!(*list)[i].is_object()) members.refuse("adapters", rule);
      const Members adapter((*list)[i], kStyle, "adapters[" + std::to_string(i) + "].");
      adapter.require_known({"name", "strength"});
      out.adapters.emplace_back(lora_file_name(services, adapter.text("name")), adapter.number("strength", 1, -kMostStrength, kMostStrength));
    }
  } else {
    const std::string path = members.text("lora_path");
    const double strength = members.number("strength", 1, -kMostStrength, kMostStrength);
    out.adapters.emplace_back(lora_file_name(services, path.empty() ? out.name : path), strength);
  }
  if (out.adapters.size() > kMaxAdapters) throw HttpError(400, "invalid_request", "A model takes at most 64 adapters");
  return out;
}

// Opens base and adapters, so that what does not fit is refused now and not when a picture is asked for.
Response load_adapter(const Request& request, const Services& services, VariantBook& book) {
  NamedVariant variant = read_variant(parse_object(request), services, book);
  for (const std::string& name : services.models.list("checkpoints")) {
    if (name == variant.name) throw HttpError(409, "conflict", "A model has this name", name);
  }
  const VariantReport report = engine::describe_variant(services.core, {variant.parent, variant.adapters}, true);
  for (const VariantPart& part : report.parts) {
    if (part.part == "unet") variant.fingerprint = part.fingerprint;
  }
  variant.created_s = std::time(nullptr);
  book.add(variant);
  Json json = variant_json(variant);
  for (const AdapterSummary& adapter : report.adapters) {
    json["report"].push_back({{"adapter", adapter.name},
                              {"matched", adapter.matched.size()},
                              {"mismatched", adapter.mismatched.size()},
                              {"unused_keys", adapter.unused_keys}});
  }
  return json_response(json);
}

Response unload_adapter(const Request& request, VariantBook& book) {
  const Json body = parse_object(request);
  const std::string name = Members(body, kStyle).text("lora_name");
  book.remove(name);
  return json_response(Json{{"unloaded", name}});
}

}  // namespace

void add_variant_routes(Router& router, Services& services, VariantBook& book) {
  router.get("/v1/models", [&](const Request&) { return list_models(services, book); });
  router.post("/v1/load_lora_adapter", [&](const Request& request) { return load_adapter(request, services, book); });
  router.post("/v1/unload_lora_adapter", [&](const Request& request) { return unload_adapter(request, book); });
}

}  // namespace veneer::server
