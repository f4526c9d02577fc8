// Group "patcher": scripts over one tiny network with several patchers, and what can be seen after each step.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>

#include "golden_set.h"
#include "models/family/checkpoint.h"
#include "network_set.h"
#include "patch/kinds/file_kinds.h"
#include "patch/kinds/values.h"
#include "tensor/convert.h"
#include "variant/model_patcher.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using nlohmann::json;
using variant::LoadState;
using variant::ModelPatcher;
using variant::PatchEntry;

using Weights = std::map<std::string, Tensor, std::less<>>;

constexpr const char* kModelSampling = "model_sampling";

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
}

// The network in f32, with the tables that the reference counts among its weights.
models::LoadedUnet open_network(const Group& group) {
  models::LoadedUnet unet = models::load_unet(models::tensors_of(group.model("unet")), "unet.safetensors");
  variant::ModuleTable table;
  for (const variant::ModuleDef& module : unet.base->modules()) table.add(module);
  Weights weights;
  for (const auto& [key, tensor] : unet.base->weights()) weights.emplace(key, to_dtype(tensor, DType::f32));
  constexpr int64_t kTimesteps = 1000;
  for (const char* name : {"model_sampling.sigmas", "model_sampling.log_sigmas"}) weights.emplace(name, Tensor::zeros({kTimesteps}, DType::f32));
  std::map<std::string, variant::ModelObject> objects;
  objects[kModelSampling] = variant::ModelObject::of(Fingerprint{0, 1}, std::make_shared<const int>(0));
  unet.base = variant::BaseModel::create(unet.base->architecture(), std::move(table), std::move(weights), unet.base->source_name(), objects);
  return unet;
}

variant::ModelPatcher reference_patcher(std::shared_ptr<const variant::BaseModel> base) {
  variant::Runtime runtime;
  runtime.residents = std::make_shared<residency::ResidentSet>();
  runtime.compat = patch::PatchCompat::reference;
  return {std::move(base), std::make_shared<const variant::Runtime>(std::move(runtime)), DType::f32};
}

// What the manifest's data file holds for a key of the case.
patch::PatchValuePtr value_for(const Group& group, const std::string& short_name, bool sliced) {
  if (short_name == "q" && !sliced) {
    const patch::AdapterTensors file{{"q.lora_up.weight", group.tensor("lora/up")},
                                     {"q.lora_down.weight", group.tensor("lora/down")},
                                     {"q.alpha", Tensor::from(Shape{}, std::array<float, 1>{1.0F})}};
    std::set<std::string, std::less<>> used;
    patch::LayerTensors layer(file, "q", patch::PatchCompat::standard, used);
    return patch::parse_lora(layer);
  }
  if (short_name == "big") return patch::make_diff(group.tensor("partial_load/forward/diff_big"));
  const Tensor whole = group.tensor("diff/" + short_name);
  return patch::make_diff(whole);
}

json options_json(const variant::ModelOptions& options) {
  const auto list = [](size_t count) { return json(std::vector<std::string>(count, "function")); };
  json patches = json::object();
  const variant::TransformerOptions& transformer = options.transformer_options;
  const std::pair<const char*, size_t> lists[] = {{"attn1_patch", transformer.attn1_patch.size()},
                                                  {"attn2_patch", transformer.attn2_patch.size()},
                                                  {"attn1_output_patch", transformer.attn1_output_patch.size()},
                                                  {"attn2_output_patch", transformer.attn2_output_patch.size()},
                                                  {"input_block_patch", transformer.input_block_patch.size()},
                                                  {"input_block_patch_after_skip", transformer.input_block_patch_after_skip.size()},
                                                  {"output_block_patch", transformer.output_block_patch.size()},
                                                  {"middle_patch", transformer.middle_patch.size()},
                                                  {"emb_patch", transformer.emb_patch.size()}};
  for (const auto& [name, count] : lists) {
    if (count > 0) patches[name] = list(count);
  }
  json replace = json::object();
  const auto add_replace = [&](const char* name, const auto& map) {
    for (const auto& [position, patch] : map) {
      std::string place = "('" + position.block + "', " + std::to_string(position.block_index);
      if (position.transformer_index >= 0) place += ", " + std::to_string(position.transformer_index);
      replace[name][place + ")"] = "function";
    }
  };
  add_replace("attn1", transformer.attn1_replace);
  add_replace("attn2", transformer.attn2_replace);

  json out = {{"transformer_options", json::object()}};
  if (!patches.empty()) out["transformer_options"]["patches"] = patches;
  if (!replace.empty()) out["transformer_options"]["patches_replace"] = replace;
  const sampling::GuidanceOptions& guidance = options.guidance;
  if (guidance.cfg_function) out["sampler_cfg_function"] = "function";
  if (!guidance.pre_cfg.empty()) out["sampler_pre_cfg_function"] = list(guidance.pre_cfg.size());
  if (!guidance.post_cfg.empty()) out["sampler_post_cfg_function"] = list(guidance.post_cfg.size());
  if (guidance.unet_wrapper) out["model_function_wrapper"] = "function";
  if (guidance.denoise_mask_function) out["denoise_mask_function"] = "function";
  if (guidance.disable_cfg1_optimization) out["disable_cfg1_optimization"] = true;
  return out;
}

// One script: patchers by name, and the step at hand.
class Script {
 public:
  Script(Case& golden, std::shared_ptr<const variant::BaseModel> base) : golden_(golden), base_(base) {
    names_.push_back("base");
    patchers_.emplace("base", reference_patcher(std::move(base)));
    replacement_ = variant::ModelObject::of(Fingerprint{0, 2}, std::make_shared<const int>(1));
    for (const auto& [name, key] : golden.params().at("keys").items()) short_names_[key.get<std::string>()] = name;
  }

  void run() {
    size_t number = 0;
    for (const json& step : golden_.expect().at("steps")) {
      const std::string where = "step " + std::to_string(number++) + " (" + step.at("op").get<std::string>() + ")";
      json returned;
      std::string raised;
      try {
        returned = execute(step.at("op"), step.at("args"));
      } catch (const std::exception& error) {
        raised = error.what();
      }
      const std::string expected = step.value("raised", std::string());
      std::string told = where;
      told.append(": raised '").append(raised).append("', want '").append(expected).append("'");
      golden_.require(raised.empty() == expected.empty(), told);
      if (step.contains("returned")) compare(where + " returned", returned, step.at("returned"));
      if (step.contains("state")) check_state(where, step.at("state"));
    }
  }

 private:
  ModelPatcher& at(const json& args, const char* role = "patcher") { return patchers_.at(args.at(role).get<std::string>()); }

  static size_t bytes(const json& number) {
    const double value = number.get<double>();
    return value >= 1e18 ? variant::LoadRequest::kAll : static_cast<size_t>(value);
  }

  json add_patches(const json& args) {
    ModelPatcher& patcher = at(args);
    std::vector<PatchEntry> entries;
    for (const json& key : args.at("keys")) {
      PatchEntry entry;
      entry.key = key.is_array() ? key.at(0).get<std::string>() : key.get<std::string>();
      if (key.is_array()) {
        const json& slice = key.at(1);
        entry.offset = patch::Offset{slice.at(0).get<int>(), slice.at(1).get<int64_t>(), slice.at(2).get<int64_t>()};
      }
      if (const auto known = short_names_.find(entry.key); known != short_names_.end()) {
        entry.value = value_for(golden_.group(), known->second, entry.offset.has_value());
        if (entry.offset)
          entry.value = patch::make_diff(golden_.group().tensor("diff/" + known->second).slice(entry.offset->start, entry.offset->length));
      }
      entries.push_back(std::move(entry));
    }
    const json& strengths = args.at("strengths");
    const auto taken = patcher.add_patches(entries, strengths.at(0).get<double>(), strengths.size() > 1 ? strengths.at(1).get<double>() : 1.0);
    json out = json::array();
    for (size_t i = 0; i < taken.size(); ++i) {
      if (!taken[i]) continue;
      const json& key = args.at("keys").at(i);
      out.push_back(key.is_array() ? key : json::array({key}));
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  json add_failing_patch(const json& args) {
    PatchEntry entry;
    entry.key = args.at("key").get<std::string>();
    entry.value = value_for(golden_.group(), short_names_.at(entry.key), false);
    entry.function = patch::WeightFunction{"fails", [](std::span<float>) { throw std::runtime_error("patch function failed"); }};
    const auto taken = at(args).add_patches(std::vector<PatchEntry>{std::move(entry)});
    return std::count(taken.begin(), taken.end(), true);
  }

  json get_key_patches(const json& args) {
    json out = json::array();
    for (const auto& [key, patches] : at(args).get_key_patches(args.value("filter_prefix", std::string()))) {
      out.push_back(json::array({key, patches.records.size() + 1}));
    }
    return out;
  }

  json patch_model(const json& args, bool load_weights = true) {
    at(args).patch_model(load_weights);
    last_weights_ = at(args).model_state_dict();
    return "(BaseModel)";
  }

  json set_option(const std::string& op, ModelPatcher& patcher) {
    const Fingerprint id{0, ++functions_};
    if (op == "set_model_attn1_patch") patcher.set_model_attn1_patch({id, nullptr});
    if (op == "set_model_attn2_replace") {
      patcher.set_model_attn2_replace(++replaced_ == 2 ? variant::BlockPosition{"input", 1, 0} : variant::BlockPosition{"middle", 0, -1},
                                      {id, nullptr});
    }
    if (op == "set_model_attn2_replace_same_block") patcher.set_model_attn2_replace({"middle", 0, -1}, {id, nullptr});
    if (op == "set_model_sampler_cfg_function") patcher.set_model_sampler_cfg_function({id, nullptr});
    if (op == "set_model_sampler_post_cfg_function") patcher.set_model_sampler_post_cfg_function({id, nullptr}, true);
    if (op == "set_model_unet_function_wrapper") patcher.set_model_unet_function_wrapper({id, nullptr});
    if (op == "set_model_denoise_mask_function") patcher.set_model_denoise_mask_function({id, nullptr});
    if (op == "set_model_output_block_patch") patcher.set_model_output_block_patch({id, nullptr});
    if (op == "set_model_input_block_patch_after_skip") patcher.set_model_input_block_patch_after_skip({id, nullptr});
    if (op == "set_model_compute_dtype") patcher.set_model_compute_dtype(DType::f32);
    return nullptr;
  }

  json get_model_object_is_patch() {
    const auto model = patchers_.at("base").load_slot().model_object(kModelSampling);
    return json::array({patchers_.at("a").get_model_object(kModelSampling).same_object(replacement_),
                        patchers_.at("base").get_model_object(kModelSampling).same_object(base_->objects().at(kModelSampling)),
                        model.same_object(base_->objects().at(kModelSampling))});
  }

  json clone_has_same_weights(const json& args) {
    const ModelPatcher& a = at(args, "a");
    const ModelPatcher& b = at(args, "b");
    if (a.clone_has_same_weights(b, patch::PatchCompat::reference)) return true;
    // The reference gives None where the uuids differ and False elsewhere; both mean no.
    return a.patches_uuid() == b.patches_uuid() ? json(false) : json(nullptr);
  }

  json attachment_differs() {
    ModelPatcher& a = patchers_.at("a");
    a.set_attachment("goldens", 1);
    return json::array({a.clone().clone_has_same_weights(a, patch::PatchCompat::reference),
                        a.clone_has_same_weights(patchers_.at("base"), patch::PatchCompat::reference)});
  }

  json execute(const std::string& op, const json& args) {
    if (op == "start") return nullptr;
    if (op == "clone") {
      const std::string target = args.at("target");
      if (std::find(names_.begin(), names_.end(), target) == names_.end()) names_.push_back(target);
      patchers_.insert_or_assign(target, at(args, "source").clone());
      return nullptr;
    }
    if (op == "clone_has_same_weights") return clone_has_same_weights(args);
    if (op == "add_patches") return add_patches(args);
    if (op == "add_failing_patch") return add_failing_patch(args);
    if (op == "get_key_patches") return get_key_patches(args).size();
    if (op == "get_key_patches_filtered") return get_key_patches(args);
    if (op == "key_patches_base_weight_is_original") {
      for (const auto& [key, patches] : at(args).get_key_patches()) {
        if (!same_bits(patches.weight, base_->weight(key))) return false;
      }
      return true;
    }
    if (op == "patch_model" || op == "patch_model_after_add") return patch_model(args);
    if (op == "patch_model_again") {
      const Weights before = last_weights_;
      json out = patch_model(args);
      first_weights_ = before;
      return out;
    }
    if (op == "weights_as_after_first_patch") {
      return std::all_of(first_weights_.begin(), first_weights_.end(),
                         [&](const auto& entry) { return same_bits(entry.second, last_weights_.at(entry.first)); });
    }
    if (op == "patch_model_load_weights_false") return patch_model(args, false);
    if (op == "unpatch_model") return at(args).unpatch_model(), json();
    if (op == "unpatch_model_keep_weights") return at(args).unpatch_model(false), json();
    if (op == "detach") return at(args).detach(), json("(BaseModel)");
    if (op.find("partially_load") != std::string::npos) {
      return at(args).partially_load(bytes(args.at("extra_memory")), args.value("force_patch_weights", false));
    }
    if (op == "partially_unload") return at(args).partially_unload(bytes(args.at("memory_to_free")));
    if (op == "model_options") return options_json(at(args).model_options()).dump();
    if (op == "add_object_patch") return at(args).add_object_patch(args.at("name"), replacement_), json();
    if (op == "get_model_object_is_patch") return get_model_object_is_patch();
    if (op == "model_has_original") {
      return patchers_.at("base").load_slot().model_object(kModelSampling).same_object(base_->objects().at(kModelSampling));
    }
    if (op == "add_weight_wrapper") {
      at(args).add_weight_wrapper(args.at("key").get<std::string>(), {Fingerprint{0, ++functions_}, [](const Tensor& weight) { return weight; }});
      return nullptr;
    }
    if (op == "add_attachment_differs") return attachment_differs();
    if (op.starts_with("set_model_")) return set_option(op, at(args));
    throw Error(ErrorCode::unsupported, "goldens: unknown step", {{"op", op}});
  }

  // Lists of keys come in the reference's order of modules, which is no part of the behaviour.
  void compare(const std::string& what, json got, json want) {
    if (want.is_string() && got.is_string() && want.get<std::string>().starts_with("{")) {
      got = json::parse(got.get<std::string>());
      want = json::parse(want.get<std::string>());
    }
    if (want.is_array() && !want.empty() && want.at(0).is_array()) {
      std::sort(want.begin(), want.end());
      std::sort(got.begin(), got.end());
    }
    golden_.require(got == want, what + ": got " + got.dump() + ", want " + want.dump());
  }

  static json as_set(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
  }
  static json as_set(const json& names) { return as_set(names.get<std::vector<std::string>>()); }

  void check_state(const std::string& where, const json& want) {
    const ModelPatcher& base = patchers_.at("base");
    const LoadState state = base.load_slot().state();
    const auto expect = [&](const char* name, const json& got, const json& expected) { compare(where + " " + name, got, expected); };
    expect("backup", as_set(state.backup), as_set(want.at("backup")));
    std::vector<std::string> changed;
    try {
      for (const auto& [key, tensor] : base.model_state_dict()) {
        if (!same_bits(tensor, base_->weight(key))) changed.push_back(key);
      }
    } catch (const std::exception&) {
      changed = changed_where_it_can_be_made(state);
    }
    expect("changed", as_set(changed), as_set(want.at("changed")));
    expect("lowvram_functions", state.weight_functions, want.at("lowvram_functions"));
    expect("model_size", base.model_size(), want.at("model_size"));
    expect("loaded_size", base.loaded_size(), want.at("loaded_size"));
    expect("lowvram_patch_counter", state.on_demand_patches, want.at("lowvram_patch_counter"));
    expect("model_lowvram", state.low_memory, want.at("model_lowvram"));
    expect("object_patches_backup", as_set(state.object_patches_backup), as_set(want.at("object_patches_backup")));

    std::vector<std::string> loaded;
    std::map<Fingerprint, std::vector<std::string>> groups;
    json patches = json::object(), objects = json::object();
    for (const std::string& name : names_) {
      const ModelPatcher& patcher = patchers_.at(name);
      if (state.loaded_uuid == patcher.patches_uuid()) loaded.push_back(name);
      groups[patcher.patches_uuid()].push_back(name);
      patches[name] = json::object();
      for (const auto& [key, records] : patcher.patches()) patches[name][key] = records->size();
      objects[name] = json::array();
      for (const auto& [path, object] : patcher.object_patches()) objects[name].push_back(path);
    }
    if (loaded.empty() && state.loaded_uuid != Fingerprint{}) loaded.push_back("(none of these)");
    expect("loaded_uuid_of", as_set(loaded), as_set(want.at("loaded_uuid_of")));
    json got_groups = json::array(), want_groups = json::array();
    for (const auto& [uuid, names] : groups) got_groups.push_back(as_set(names));
    for (const json& names : want.at("same_uuid")) want_groups.push_back(as_set(names));
    expect("same_uuid", got_groups, want_groups);
    expect("patches", patches, want.at("patches"));
    expect("object_patches", objects, want.at("object_patches"));
    check_patched_values(state);
  }

  // A key whose patch function throws has a backup and is not changed.
  std::vector<std::string> changed_where_it_can_be_made(const LoadState& state) {
    std::vector<std::string> out;
    const auto current = patchers_.at("base").load_slot().current();
    for (const std::string& key : state.backup) {
      try {
        if (!same_bits(current->description().patched_weight(key), base_->weight(key))) out.push_back(key);
      } catch (const std::exception&) {
        continue;
      }
    }
    return out;
  }

  // The data file has the reference's values for some keys of fully loaded patchers.
  void check_patched_values(const LoadState& state) {
    for (const auto& [key, short_name] : short_names_) {
      for (const std::string& name : names_) {
        std::string tensor = "patched_";
        tensor.append(name).append("/").append(short_name);
        const ModelPatcher& patcher = patchers_.at(name);
        if (state.loaded_uuid != patcher.patches_uuid() || !golden_.group().has_tensor(tensor) || golden_.name() != "clone_patch_unpatch") continue;
        const Tensor want = golden_.group().tensor(tensor);
        const Tensor got = patcher.patched_weight(key);
        for (int64_t i = 0; i < want.num_elements(); ++i) {
          const auto at = static_cast<size_t>(i);
          if (std::abs(got.floats()[at] - want.floats()[at]) > 1e-6F) {
            golden_.require(false, tensor + " differs");
            break;
          }
        }
      }
    }
  }

  Case& golden_;
  std::shared_ptr<const variant::BaseModel> base_;
  std::vector<std::string> names_;  // in order of creation
  std::map<std::string, ModelPatcher> patchers_;
  std::map<std::string, std::string> short_names_;
  variant::ModelObject replacement_;
  Weights first_weights_, last_weights_;
  uint64_t functions_ = 0;
  int replaced_ = 0;
};

// The network's output with the case's patches, those of `twice` added a second time. The same wherever they are applied.
Tensor patched_output(Case& golden, const models::LoadedUnet& unet, const std::set<std::string>& twice) {
  ModelPatcher patcher = reference_patcher(unet.base);
  const double strength = golden.params().at("strength").get<double>();
  for (const auto& [name, key] : golden.params().at("keys").items()) {
    PatchEntry entry;
    entry.key = key.get<std::string>();
    entry.value = name == "big" ? patch::make_diff(golden.input("diff_big")) : value_for(golden.group(), name, false);
    const std::vector<PatchEntry> entries(twice.contains(name) ? 2 : 1, entry);
    patcher.add_patches(entries, strength);
  }
  const auto timesteps = golden.params().at("timesteps").get<std::vector<float>>();
  Tensor first;
  for (const size_t budget : {variant::LoadRequest::kAll, patcher.model_size() / 2, size_t{0}}) {
    patcher.unpatch_model();
    patcher.load({.budget = budget});
    const auto view = patcher.open_view();
    compute::Context context;
    const Tensor eps = unet.network->forward(*view, context, golden.input("x"), timesteps, golden.input("context"));
    if (!first.defined()) first = eps;
    golden.require(same_bits(first, eps), "the output depends on how much is loaded");
  }
  return first;
}

// Where its load states differ (by params.max_difference_between_load_states), the reference added the patches that it applies while the network runs
// to its weights in place: the output it recorded is that of a second evaluation, with all but the largest module's patch in it twice. Veneer's
// output then has to be that far from it, and equal with the patches given twice.
void check_forward(Case& golden, const models::LoadedUnet& unet) {
  const Tensor eps = patched_output(golden, unet, {});
  const double drift = golden.params().value("max_difference_between_load_states", 0.0);
  const double tolerance = golden.tolerance("eps").atol;
  if (drift <= tolerance) {
    golden.check("eps", eps);
    return;
  }
  const Tensor recorded = golden.expected("eps");
  double difference = 0;
  for (size_t i = 0; i < eps.floats().size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(eps.floats()[i]) - static_cast<double>(recorded.floats()[i])));
  }
  golden.require(std::abs(difference - drift) <= tolerance,
                 "distance to the recorded output: got " + std::to_string(difference) + ", want " + std::to_string(drift));
  std::set<std::string> twice;
  for (const auto& [name, key] : golden.params().at("keys").items()) {
    if (name != "big") twice.insert(name);
  }
  golden.check("eps", patched_output(golden, unet, twice));
}

}  // namespace

Runner make_patcher_runner(const Group& group) {
  const models::LoadedUnet unet = open_network(group);
  return [unet](Case& golden) {
    if (golden.expect().is_object() && golden.expect().contains("steps")) {
      const Fingerprint before = unet.base->content_fingerprint();
      Script(golden, unet.base).run();
      golden.require(unet.base->content_fingerprint() == before, "the base was written to");
    } else {
      check_forward(golden, unet);
    }
  };
}

}  // namespace veneer::goldens
