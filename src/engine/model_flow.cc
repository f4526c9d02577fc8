#include "engine/model_flow.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>

#include "graph/prompt.h"

namespace veneer::engine {
namespace {

using graph::Json;

// What travels along a link, as far as families go.
struct Carried {
  std::string family;
  std::string what;  // "checkpoints/x.safetensors", for messages
  int latent_channels = 0;
  std::set<int64_t> text_widths = {};  // of text encoders
  bool empty() const { return family.empty() && latent_channels == 0 && text_widths.empty(); }
};
using ByType = std::map<std::string, std::vector<Carried>, std::less<>>;

struct FamilyLatents {
  std::string_view family;
  int channels;
};
constexpr std::array kLatents = {FamilyLatents{"sd1", 4},  FamilyLatents{"sd2", 4},   FamilyLatents{"sdxl", 4}, FamilyLatents{"sdxl_refiner", 4},
                                 FamilyLatents{"sd3", 16}, FamilyLatents{"flux", 16}, FamilyLatents{"wan", 16}};

// A type of socket and the one that its family comes from where a node has no input of the type itself.
struct Source {
  std::string_view type, from;
};
constexpr std::array kSources = {Source{"CONDITIONING", "CLIP"}, Source{"GUIDER", "MODEL"}, Source{"LATENT", "MODEL"}, Source{"LATENT", "VAE"}};

// Types whose families have to be equal where they meet in one node.
constexpr std::array kMeetings = {Source{"MODEL", "CONDITIONING"}, Source{"MODEL", "CLIP"}, Source{"MODEL", "CONTROL_NET"},
                                  Source{"MODEL", "HOOKS"},        Source{"CLIP", "HOOKS"}, Source{"CONDITIONING", "CONTROL_NET"},
                                  Source{"GUIDER", "CONDITIONING"}};

int channels_of(const registry::ModelFacts& facts) {
  if (facts.type == "vae")
    return facts.detail.find("16 latent") != std::string::npos ? 16 : facts.detail.find("4 latent") != std::string::npos ? 4 : 0;
  const auto* const it = std::ranges::find(kLatents, facts.family, &FamilyLatents::family);
  return it == kLatents.end() ? 0 : it->channels;
}

// Node ids so that every node stands behind those that it depends on; nodes in a cycle are left out.
std::vector<std::string> in_order(const graph::Prompt& prompt) {
  std::unordered_map<std::string, size_t> waits;
  std::unordered_map<std::string, std::vector<std::string>> readers;
  std::vector<std::string> ready;
  for (const graph::PromptNode& node : prompt.nodes()) {
    size_t count = 0;
    if (const Json* inputs = node.inputs()) {
      for (const Json& value : *inputs) {
        const std::optional<graph::Link> link = graph::as_link(value);
        if (!link || prompt.find(link->node_id) == nullptr) continue;
        readers[link->node_id].push_back(node.id);
        ++count;
      }
    }
    waits[node.id] = count;
    if (count == 0) ready.push_back(node.id);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    const std::vector<std::string> next = readers[ready[i]];
    for (const std::string& id : next) {
      if (--waits[id] == 0) ready.push_back(id);
    }
  }
  return ready;
}

class Flow {
 public:
  Flow(const graph::Prompt& prompt, const graph::NodeRegistry& nodes, const FactsByNode& loaded) : prompt_(prompt), nodes_(nodes), loaded_(loaded) {}

  std::vector<WorkflowFinding> run() {
    for (const std::string& id : in_order(prompt_)) visit(*prompt_.find(id));
    return std::move(out_);
  }

 private:
  void visit(const graph::PromptNode& node) {
    const graph::NodeDef* def = nodes_.find(node.class_type);
    if (def == nullptr) return;
    ByType in = inputs_of(node);
    const auto own = loaded_.find(node.id);
    if (own != loaded_.end()) {
      for (const LoadedFacts& model : own->second) check_adapter(node, model, in);
    }
    check_meetings(node, in);
    std::vector<Carried>& outputs = outputs_[node.id];
    for (const graph::OutputDef& output : def->outputs)
      outputs.push_back(carried_out(output.type, in, own == loaded_.end() ? nullptr : &own->second));
  }

  // By the type of the output that feeds each input.
  ByType inputs_of(const graph::PromptNode& node) const {
    ByType in;
    const Json* inputs = node.inputs();
    if (inputs == nullptr) return in;
    for (const Json& value : *inputs) {
      const std::optional<graph::Link> link = graph::as_link(value);
      if (!link || link->slot < 0) continue;
      const auto source = outputs_.find(link->node_id);
      const auto slot = static_cast<size_t>(link->slot);
      if (source == outputs_.end() || slot >= source->second.size() || source->second[slot].empty()) continue;
      const graph::NodeDef* def = nodes_.find(prompt_.find(link->node_id)->class_type);
      in[def->outputs[slot].type].push_back(source->second[slot]);
    }
    return in;
  }

  static bool is_embedding(const LoadedFacts& model) { return model.kind == "embeddings"; }
  static bool is_adapter(const LoadedFacts& model) { return model.kind == "loras" || is_embedding(model); }

  static Carried carried_out(const std::string& type, const ByType& in, const std::vector<LoadedFacts>* own) {
    if (own != nullptr) {
      std::optional<Carried> out;
      for (const LoadedFacts& model : *own) {
        if (is_adapter(model) && (type != "HOOKS" || is_embedding(model))) continue;
        if (!out) out = Carried{model.facts->family, model.kind + "/" + model.name, channels_of(*model.facts)};
        out->text_widths.insert(model.facts->text_widths.begin(), model.facts->text_widths.end());  // an encoder may be in two files
      }
      if (out) return *std::move(out);
    }
    const auto same = in.find(type);
    if (same != in.end()) return same->second.front();
    for (const Source& source : kSources) {
      const auto from = source.type == type ? in.find(source.from) : in.end();
      if (from != in.end()) return from->second.front();
    }
    return {};
  }

  void check_adapter(const graph::PromptNode& node, const LoadedFacts& model, const ByType& in) {
    if (is_embedding(model)) return check_embedding(node, model, in);
    if (!is_adapter(model) || model.facts->family.empty()) return;
    for (const char* type : {"MODEL", "CLIP"}) {
      const auto base = in.find(type);
      const Carried* other = base == in.end() ? nullptr : conflict(model.facts->family, base->second);
      if (other == nullptr) continue;
      add(node, model.input, model.name,
          "this adapter is for " + model.facts->family + ", and the model is " + other->family + " (" + other->what + ")", other->family);
      return;
    }
  }

  void check_embedding(const graph::PromptNode& node, const LoadedFacts& model, const ByType& in) {
    const auto clips = in.find("CLIP");
    if (clips == in.end()) return;
    const Carried& clip = clips->second.front();
    if (const Carried* other = conflict(model.facts->family, clips->second)) {
      return add(node, model.input, model.name,
                 "this embedding is for " + model.facts->family + ", and the text encoder is of " + other->family + " (" + other->what + ")",
                 other->family);
    }
    const std::set<int64_t>& have = model.facts->text_widths;
    const bool fits = std::ranges::any_of(have, [&](int64_t width) { return clip.text_widths.contains(width); });
    if (fits || have.empty() || clip.text_widths.empty()) return;
    add(node, model.input, model.name,
        "the vectors of this embedding have " + listed(have) + " numbers, those of the text encoder " + listed(clip.text_widths) + " (" + clip.what +
            ")",
        listed(clip.text_widths));
  }

  static std::string listed(const std::set<int64_t>& numbers) {
    std::string out;
    for (const int64_t number : numbers) out += (out.empty() ? "" : " or ") + std::to_string(number);
    return out;
  }

  // The first of another known family.
  static const Carried* conflict(const std::string& family, const std::vector<Carried>& others) {
    const auto other = std::ranges::find_if(others, [&](const Carried& carried) { return !carried.family.empty() && carried.family != family; });
    return family.empty() || other == others.end() ? nullptr : &*other;
  }

  void check_meetings(const graph::PromptNode& node, const ByType& in) {
    for (const Source& pair : kMeetings) {
      const auto a = in.find(pair.type);
      const auto b = in.find(pair.from);
      if (a == in.end() || b == in.end()) continue;
      const Carried& first = a->second.front();
      const Carried* other = conflict(first.family, b->second);
      if (other == nullptr) continue;
      add(node, "", "",
          std::string(pair.type) + " is " + first.family + " (" + first.what + "), " + std::string(pair.from) + " is " + other->family + " (" +
              other->what + ")",
          first.family);
    }
    const auto vae = in.find("VAE");
    for (const char* type : {"MODEL", "LATENT"}) {
      const auto other = in.find(type);
      if (vae == in.end() || other == in.end()) continue;
      const Carried& coder = vae->second.front();
      const Carried& latent = other->second.front();
      if (coder.latent_channels == 0 || latent.latent_channels == 0 || coder.latent_channels == latent.latent_channels) continue;
      add(node, "", "",
          "the autoencoder (" + coder.what + ") has " + std::to_string(coder.latent_channels) + " latent channels, the " + type + " (" + latent.what +
              ") has " + std::to_string(latent.latent_channels),
          "");
      return;
    }
  }

  void add(const graph::PromptNode& node, std::string input, const std::string& value, std::string message, const std::string& allowed) {
    WorkflowFinding finding;
    finding.node = node.id;
    finding.class_type = node.class_type;
    finding.input = std::move(input);
    finding.rule = "model_family";
    finding.message = std::move(message);
    if (!value.empty()) finding.value = Json(value).dump();
    if (!allowed.empty()) finding.allowed = {allowed};
    out_.push_back(std::move(finding));
  }

  const graph::Prompt& prompt_;
  const graph::NodeRegistry& nodes_;
  const FactsByNode& loaded_;
  std::unordered_map<std::string, std::vector<Carried>> outputs_;
  std::vector<WorkflowFinding> out_;
};

}  // namespace

std::vector<WorkflowFinding> flow_findings(const Json& prompt, const graph::NodeRegistry& nodes, const FactsByNode& loaded) {
  if (loaded.empty()) return {};
  graph::PromptFault fault;
  const std::optional<graph::Prompt> parsed = graph::Prompt::parse(prompt, fault);
  return parsed ? Flow(*parsed, nodes, loaded).run() : std::vector<WorkflowFinding>();
}

}  // namespace veneer::engine
