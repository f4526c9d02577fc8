#include "engine/workflow_lock.h"

#include <map>
#include <set>
#include <utility>

#include "graph/json_text.h"
#include "registry/file_identity.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;

constexpr int kVersion = 1;
constexpr size_t kMostModels = 100'000;
constexpr size_t kHashDigits = 64;

std::string hash_of(const NamedModel& model, registry::Library& library, const HashProgress& progress) {
  registry::HashIndex::Progress one;
  if (progress) one = [&](uint64_t done, uint64_t all) { progress(model.file.string(), done, all); };
  return library.hash(model.file, one);
}

[[noreturn]] void refuse(const char* rule, size_t index) { throw Error(ErrorCode::invalid, rule, {{"entry", std::to_string(index)}}); }

LockedModel read_entry(const Json& entry, size_t index) {
  const auto text = [&](const char* name) {
    if (!entry.is_object() || !entry.contains(name) || !entry.at(name).is_string()) refuse("lock: an entry needs kind, name, size and sha256", index);
    return entry.at(name).get<std::string>();
  };
  LockedModel model;
  model.kind = text("kind");
  model.name = text("name");
  model.sha256 = text("sha256");
  if (!entry.contains("size") || !entry.at("size").is_number_unsigned()) refuse("lock: an entry has no size", index);
  model.size_bytes = entry.at("size").get<uint64_t>();
  if (model.sha256.size() != kHashDigits || model.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    refuse("lock: a sha256 has 64 digits 0-9 a-f", index);
  }
  return model;
}

WorkflowFinding finding(const NamedModel& model, std::string rule, std::string message) {
  WorkflowFinding out;
  out.node = model.node;
  out.class_type = model.class_type;
  out.input = model.input;
  out.rule = std::move(rule);
  out.message = std::move(message);
  out.value = Json(model.name.empty() ? model.reference : model.name).dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace

std::string write_lock(const std::vector<NamedModel>& models, registry::Library& library, const HashProgress& progress) {
  std::map<std::pair<std::string, std::string>, std::vector<const NamedModel*>> by_name;
  for (const NamedModel& model : models) {
    if (model.file.empty()) {
      library.find(model.kind, model.reference);  // says why not
      throw Error(ErrorCode::not_found, "lock: a model does not exist", {{"kind", model.kind}, {"name", model.reference}});
    }
    by_name[{model.kind, model.name}].push_back(&model);
  }
  Json list = Json::array();
  for (const auto& [key, uses] : by_name) {
    const NamedModel& model = *uses.front();
    Json entry = {{"kind", key.first}, {"name", key.second}, {"size", registry::identify(model.file).size_bytes}};
    entry["sha256"] = hash_of(model, library, progress);
    entry["used_by"] = Json::array();
    for (const NamedModel* use : uses) entry["used_by"].push_back(use->node);
    list.push_back(std::move(entry));
  }
  return Json{{"veneer_lock", kVersion}, {"models", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<LockedModel> read_lock(std::string_view text) {
  const Json json = [&] {
    try {
      return graph::parse_json(text);
    } catch (const Error& error) {  // which would speak of a workflow
      throw Error(ErrorCode::invalid, "lock: the file is no JSON", {{"reason", error.what()}});
    }
  }();
  const bool is_lock = json.is_object() && json.contains("veneer_lock") && json.contains("models") && json.at("models").is_array();
  if (!is_lock) throw Error(ErrorCode::invalid, "lock: this is no lock file", {{"want", "{\"veneer_lock\": 1, \"models\": [...]}"}});
  if (json.at("veneer_lock") != kVersion) {
    throw Error(ErrorCode::unsupported, "lock: unknown version", {{"version", json.at("veneer_lock").dump()}, {"allowed", std::to_string(kVersion)}});
  }
  if (json.at("models").size() > kMostModels) throw Error(ErrorCode::invalid, "lock: too many models");
  std::vector<LockedModel> models;
  for (const Json& entry : json.at("models")) models.push_back(read_entry(entry, models.size()));
  return models;
}

std::vector<WorkflowFinding> lock_findings(const std::vector<LockedModel>& lock, const std::vector<NamedModel>& models, registry::Library& library,
                                           const HashProgress& progress) {
  std::map<std::pair<std::string, std::string>, const LockedModel*> locked;
  for (const LockedModel& entry : lock) locked[{entry.kind, entry.name}] = &entry;
  std::vector<WorkflowFinding> out;
  std::set<std::pair<std::string, std::string>> used;
  for (const NamedModel& model : models) {
    if (model.file.empty()) continue;  // that it does not exist is said elsewhere
    const std::pair<std::string, std::string> key(model.kind, model.name);
    const bool first = used.insert(key).second;
    const auto entry = locked.find(key);
    if (entry == locked.end()) {
      out.push_back(finding(model, "not_locked", "the lock does not have this model"));
      continue;
    }
    if (!first) continue;  // told once for each file
    const uint64_t size = registry::identify(model.file).size_bytes;
    if (size != entry->second->size_bytes) {
      out.push_back(finding(model, "lock_size",
                            "the file has " + std::to_string(size) + " bytes, the locked one " + std::to_string(entry->second->size_bytes)));
    } else if (hash_of(model, library, progress) != entry->second->sha256) {
      out.push_back(finding(model, "lock_hash", "the file has another content than the locked one"));
    } else {
      continue;
    }
    out.back().allowed = {"sha256:" + entry->second->sha256};
  }
  for (const auto& [key, entry] : locked) {
    if (used.contains(key)) continue;
    WorkflowFinding unused;
    unused.severity = WorkflowFinding::Severity::note;
    unused.rule = "lock_unused";
    unused.message = "the lock has a model that the workflow does not use, or that is not here: " + key.first + "/" + key.second;
    out.push_back(std::move(unused));
  }
  return out;
}

}  // namespace veneer::engine
