#include "engine/editor_models.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/workflow_findings.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;
using Severity = WorkflowFinding::Severity;

constexpr size_t kHashDigits = 64;
constexpr size_t kShortDigits = 10;  // of "AutoV2"
constexpr size_t kMostSubgraphs = 10'000;

std::string text_in(const Json& object, const char* name) {
  const auto value = object.find(name);
  return value != object.end() && value->is_string() ? value->get<std::string>() : std::string();
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string id_of(const Json& node) {
  const auto id = node.find("id");
  if (id == node.end()) return {};
  return id->is_string() ? id->get<std::string>() : id->is_number_integer() ? id->dump() : std::string();
}

std::string with_slashes(std::string text) {
  std::ranges::replace(text, '\\', '/');
  return text;
}

// Whether a widget of the node has the name, or it cannot be told.
bool is_used(const Json& node, const std::string& name) {
  const auto values = node.find("widgets_values");
  if (values == node.end() || !values->is_structured()) return true;
  return std::ranges::any_of(
      *values, [&](const Json& value) { return value.is_string() && with_slashes(value.get<std::string>()).ends_with(with_slashes(name)); });
}

class Reader {
 public:
  Reader(registry::Library& library, bool read_files, const HashProgress& progress)
      : library_(library), read_files_(read_files), progress_(progress) {}

  void graph(const Json& graph) {
    const auto nodes = graph.find("nodes");
    if (nodes == graph.end() || !nodes->is_array()) return;
    for (const Json& node : *nodes) {
      if (!node.is_object()) continue;
      const auto properties = node.find("properties");
      if (properties == node.end() || !properties->is_object()) continue;
      list(*properties, &node);
    }
  }

  // `holder`: an object with a member "models".
  void list(const Json& holder, const Json* node) {
    const auto models = holder.find("models");
    if (models == holder.end() || !models->is_array()) return;
    for (const Json& model : *models) {
      if (out_.size() >= kMostFindings) return;
      if (model.is_object() && !text_in(model, "name").empty() && (node == nullptr || is_used(*node, text_in(model, "name")))) check(model, node);
    }
  }

  std::vector<WorkflowFinding> take() { return std::move(out_); }

 private:
  WorkflowFinding& add(const Json& model, const Json* node, Severity severity, const char* rule, std::string message) {
    WorkflowFinding finding;
    finding.severity = severity;
    finding.node = node != nullptr ? id_of(*node) : "";
    finding.class_type = node != nullptr ? text_in(*node, "type") : "";
    finding.rule = rule;
    finding.message = std::move(message);
    finding.value = Json(text_in(model, "name")).dump(-1, ' ', false, Json::error_handler_t::replace);
    return out_.emplace_back(std::move(finding));
  }

  void check(const Json& model, const Json* node) {
    const std::string name = text_in(model, "name"), kind = text_in(model, "directory"), url = text_in(model, "url");
    std::optional<registry::Library::Found> found;
    try {
      found = library_.try_find(kind, name);
    } catch (const Error&) {
      found.reset();  // a folder or a name that there cannot be
    }
    if (!found) {
      const std::string where = kind.empty() ? "" : " of " + kind;
      if (!url.empty())
        add(model, node, Severity::note, "model_source", "the file is not among those" + where + " here; the workflow says where it is: " + url);
      return;
    }
    const std::string told = lower(text_in(model, "hash"));
    if (!told.empty() && read_files_) compare(model, node, *found, told);
  }

  void compare(const Json& model, const Json* node, const registry::Library::Found& found, const std::string& told) {
    const std::string type = lower(text_in(model, "hash_type"));
    const bool digits = told.find_first_not_of("0123456789abcdef") == std::string::npos;
    const bool whole = (type == "sha256" || type.empty()) && told.size() == kHashDigits && digits;
    const bool beginning = type == "autov2" && told.size() == kShortDigits && digits;
    if (!whole && !beginning) {
      add(model, node, Severity::note, "model_hash_unknown", "the workflow tells a hash of the file that cannot be compared: " + told).allowed = {
          "SHA256: 64 digits", "AutoV2: 10 digits"};
      return;
    }
    try {
      const std::string& sha256 = hash_of(found.file);
      if (sha256.starts_with(told)) return;
      add(model, node, Severity::error, "model_hash", "the file has another content than the workflow tells: its sha256 is " + sha256).allowed = {
          "sha256:" + told};
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      add(model, node, Severity::error, "model_unreadable", error.what());
    }
  }

  // Asked for once: many nodes may name one file.
  const std::string& hash_of(const std::filesystem::path& file) {
    const auto known = hashes_.find(file);
    if (known != hashes_.end()) return known->second;
    registry::HashIndex::Progress one;
    if (progress_) one = [&](uint64_t done, uint64_t all) { progress_(file.string(), done, all); };
    return hashes_[file] = library_.hash(file, one);
  }

  registry::Library& library_;
  std::map<std::filesystem::path, std::string> hashes_;
  bool read_files_;
  const HashProgress& progress_;
  std::vector<WorkflowFinding> out_;
};

}  // namespace

std::vector<WorkflowFinding> editor_model_findings(const Json& workflow, registry::Library& library, bool read_files, const HashProgress& progress) {
  if (!workflow.is_object()) return {};
  Reader reader(library, read_files, progress);
  reader.list(workflow, nullptr);
  reader.graph(workflow);
  const auto definitions = workflow.find("definitions");
  if (definitions == workflow.end() || !definitions->is_object() || !definitions->contains("subgraphs")) return reader.take();
  const Json& subgraphs = definitions->at("subgraphs");
  size_t count = 0;
  if (subgraphs.is_array()) {
    for (const Json& subgraph : subgraphs) {
      if (subgraph.is_object() && count++ < kMostSubgraphs) reader.graph(subgraph);
    }
  }
  return reader.take();
}

}  // namespace veneer::engine
