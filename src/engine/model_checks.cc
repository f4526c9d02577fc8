#include "engine/model_checks.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "models/family/family.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using Severity = WorkflowFinding::Severity;

constexpr std::string_view kEmbeddings = "embeddings";

// The types of files that a folder's loaders take.
struct Place {
  std::string_view kind;
  std::array<std::string_view, 3> types;
};
constexpr std::array kPlaces = {Place{"checkpoints", {"checkpoint"}},
                                Place{"loras", {"lora"}},
                                Place{"vae", {"vae", "vae_approx", "checkpoint"}},
                                Place{"diffusion_models", {"diffusion_model", "checkpoint"}},
                                Place{"text_encoders", {"text_encoder", "checkpoint"}},
                                Place{"controlnet", {"controlnet", "t2i_adapter"}},
                                Place{kEmbeddings, {"embedding"}},
                                Place{"upscale_models", {"upscaler"}},
                                Place{"clip_vision", {"clip_vision"}}};

std::vector<std::string> types_of(std::string_view kind) {
  std::vector<std::string> out;
  const auto* const place = std::ranges::find(kPlaces, kind, &Place::kind);
  if (place == kPlaces.end()) return out;
  for (const std::string_view type : place->types) {
    if (!type.empty()) out.emplace_back(type);
  }
  return out;
}

std::vector<std::string> runnable_families() {
  std::vector<std::string> out;
  for (const models::FamilyDef& family : models::all_families()) out.emplace_back(family.name);
  return out;
}

class Checker {
 public:
  Checker(registry::Library& library, CheckedModels& out) : library_(library), out_(out), runnable_(runnable_families()) {}

  void check(const NamedModel& model, bool read_file) {
    WorkflowModel entry{model.node, model.class_type, model.input, model.kind, model.reference, model.name, model.file.string(), 0, "", "", ""};
    if (!model.problem.empty()) {
      add(model, Severity::error, model.kind == kEmbeddings ? "embedding_not_found" : "reference_not_found", model.problem).nearest = model.nearest;
    }
    if (!model.file.empty() && read_file) read(model, entry);
    out_.models.push_back(std::move(entry));
  }

 private:
  WorkflowFinding& add(const NamedModel& model, Severity severity, std::string rule, std::string message) {
    WorkflowFinding finding;
    finding.severity = severity;
    finding.node = model.node;
    finding.class_type = model.class_type;
    finding.input = model.input;
    finding.rule = std::move(rule);
    finding.message = std::move(message);
    finding.value = graph::Json(model.reference).dump(-1, ' ', false, graph::Json::error_handler_t::replace);
    return out_.findings.emplace_back(std::move(finding));
  }

  void read(const NamedModel& model, WorkflowModel& entry) {
    const Known& known = facts_of(model.file);
    if (known.facts == nullptr) {
      add(model, Severity::error, "model_unreadable", known.problem);
      return;
    }
    const registry::ModelFacts& facts = *known.facts;
    entry.size_bytes = facts.size_bytes;
    entry.sha256 = known.sha256;
    entry.type = facts.type;
    entry.family = facts.family;
    const std::vector<std::string> types = types_of(model.kind);
    if (facts.type.empty()) {
      add(model, Severity::warning, "model_unrecognised", "the file is of no kind that is known").allowed = types;
      return;
    }
    if (!types.empty() && std::ranges::find(types, facts.type) == types.end()) {
      add(model, Severity::error, "model_type", "the file is another kind of model: " + facts.title).allowed = types;
      return;
    }
    const bool network = facts.type == "checkpoint" || facts.type == "diffusion_model";
    if (network && std::ranges::find(runnable_, facts.family) == runnable_.end()) {
      add(model, Severity::error, "model_unsupported", facts.title + " cannot be run by this build").allowed = runnable_;
    }
    out_.facts[model.node].push_back({model.input, model.kind, model.name, known.facts});
  }

  struct Known {
    std::shared_ptr<const registry::ModelFacts> facts;  // null: not readable
    std::string problem;
    std::string sha256;
  };
  const Known& facts_of(const std::filesystem::path& file) {
    const auto it = known_.find(file);
    if (it != known_.end()) return it->second;
    Known known;
    try {
      known.facts = library_.facts(file);
      known.sha256 = library_.known_hash(file).value_or("");
    } catch (const Error& error) {
      known.facts = nullptr;
      known.problem = error.what();
    }
    return known_[file] = std::move(known);
  }

  registry::Library& library_;
  CheckedModels& out_;
  std::vector<std::string> runnable_;
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace

CheckedModels check_models(const std::vector<NamedModel>& models, registry::Library& library, bool read_files) {
  CheckedModels out;
  Checker checker(library, out);
  for (const NamedModel& model : models) checker.check(model, read_files);
  return out;
}

}  // namespace veneer::engine
