#include "engine/workflow_lock.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;

constexpr int kVersion = 1;
constexpr size_t kMostModels = 100'000;
constexpr size_t kHashDigits = 64;

registry::HashIndex::Progress progress_of(const NamedModel& model, const HashProgress& progress) {
  if (!progress) return {};
  return [&](uint64_t done, uint64_t all) { progress(model.file.string(), done, all); };
}

std::string hash_of(const NamedModel& model, registry::Library& library, const HashProgress& progress) {
  return library.hash(model.file, progress_of(model, progress));
}

[[noreturn]] void refuse(const char* rule, size_t index) { throw Error(ErrorCode::invalid, rule, {{"entry", std::to_string(index)}}); }

std::string text_of(const Json& entry, const char* name, size_t index) {
  if (!entry.is_object() || !entry.contains(name) || !entry.at(name).is_string()) refuse("lock: an entry needs kind, name, size and sha256", index);
  return entry.at(name).get<std::string>();
}

LockedFile read_file_entry(const Json& entry, size_t index) {
  LockedFile file{text_of(entry, "name", index), 0, text_of(entry, "sha256", index)};
  if (!entry.contains("size") || !entry.at("size").is_number_unsigned()) refuse("lock: an entry has no size", index);
  file.size_bytes = entry.at("size").get<uint64_t>();
  if (file.sha256.size() != kHashDigits || file.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    refuse("lock: a sha256 has 64 digits 0-9 a-f", index);
  }
  return file;
}

LockedModel read_entry(const Json& entry, size_t index) {
  const std::string kind = text_of(entry, "kind", index);
  LockedFile whole = read_file_entry(entry, index);
  LockedModel model{kind, std::move(whole.name), whole.size_bytes, std::move(whole.sha256)};
  if (!entry.contains("files")) return model;
  if (!entry.at("files").is_array() || entry.at("files").size() > kMostModels) refuse("lock: files of an entry are no list", index);
  for (const Json& file : entry.at("files")) model.files.push_back(read_file_entry(file, index));
  return model;
}

// What the locked files of a model in shards say of those that are here: which is missing, is another, or is more.
std::string difference_of(const std::vector<LockedFile>& locked, const NamedModel& model, registry::Library& library, const HashProgress& progress) {
  std::map<std::string, const LockedFile*> by_name;
  for (const LockedFile& file : locked) by_name[file.name] = &file;
  for (const registry::Library::Part& part : library.parts(model.file, progress_of(model, progress))) {
    const auto at = by_name.find(part.file.filename().string());
    if (at == by_name.end()) return "the lock does not have the file " + part.file.filename().string();
    if (at->second->sha256 != part.sha256) return "the file " + at->first + " has another content than the locked one";
    by_name.erase(at);
  }
  return by_name.empty() ? std::string() : "the model does not have the locked file " + by_name.begin()->first;
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

// A model whose index is broken, or has not all of its shards.
std::optional<WorkflowFinding> broken_model(const NamedModel& model, const registry::Library& library) {
  try {
    (void)library.size_bytes(model.file);
    return std::nullopt;
  } catch (const Error& error) {
    return finding(model, "model_unreadable", error.what());
  }
}

}  // namespace

std::string write_lock(const std::vector<NamedModel>& models, const std::vector<MadeText>& texts, registry::Library& library,
                       const HashProgress& progress) {
  std::map<std::pair<std::string, std::string>, std::vector<const NamedModel*>> by_name;
  for (const NamedModel& model : models) {
    if (model.file.empty()) {
      if (!model.problem.empty()) {
        std::string near;
        for (const std::string& name : model.nearest) near += (near.empty() ? "" : ", ") + name;
        throw Error(ErrorCode::not_found, "lock: " + model.problem,
                    {{"node", model.node}, {"input", model.input}, {"kind", model.kind}, {"name", model.reference}, {"nearest", near}});
      }
      library.find(model.kind, model.reference);  // says why not
      throw Error(ErrorCode::not_found, "lock: a model does not exist", {{"kind", model.kind}, {"name", model.reference}});
    }
    by_name[{model.kind, model.name}].push_back(&model);
  }
  Json list = Json::array();
  for (const auto& [key, uses] : by_name) {
    const NamedModel& model = *uses.front();
    Json entry = {{"kind", key.first}, {"name", key.second}, {"size", library.size_bytes(model.file)}};
    entry["sha256"] = hash_of(model, library, progress);
    const std::vector<registry::Library::Part> parts = library.parts(model.file);
    if (parts.size() > 1) {
      for (const registry::Library::Part& part : parts) {
        entry["files"].push_back({{"name", part.file.filename().string()}, {"size", part.size_bytes}, {"sha256", part.sha256}});
      }
    }
    entry["used_by"] = Json::array();
    for (const NamedModel* use : uses) entry["used_by"].push_back(use->node);
    list.push_back(std::move(entry));
  }
  Json lock = {{"veneer_lock", kVersion}, {"models", std::move(list)}};
  for (const MadeText& text : texts) lock["not_known"].push_back({{"node", text.node}, {"input", text.input}, {"made_by", text.made_by}});
  return lock.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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
    if (std::optional<WorkflowFinding> broken = broken_model(model, library)) {
      out.push_back(*std::move(broken));
      continue;
    }
    const std::string of_shards = entry->second->files.empty() ? "" : difference_of(entry->second->files, model, library, progress);
    const uint64_t size = library.size_bytes(model.file);
    if (!of_shards.empty()) {
      out.push_back(finding(model, "lock_hash", of_shards));
    } else if (size != entry->second->size_bytes) {
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
