#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "byte_size.h"
#include "command.h"
#include "engine_flags.h"
#include "error_report.h"
#include "lora_argument.h"
#include "memory_json.h"
#include "part_title.h"
#include "terminal_text.h"
#include "text_table.h"

namespace veneer::cli {
namespace {

using nlohmann::ordered_json;
using Align = TextTable::Align;

struct MemoryOptions {
  EngineFlags flags;
  std::string model;
  std::vector<std::string> loras;
  bool all = false;
};

constexpr size_t kShown = 10;  // modules without --all

ordered_json to_json(const PartPlan& plan) {
  ordered_json modules = ordered_json::array();
  for (const PlannedModule& module : plan.modules) {
    modules.push_back({{"name", module.name},
                       {"bytes", module.bytes},
                       {"place", module.place},
                       {"pinned", module.pinned},
                       {"patched", module.patched},
                       {"patches_in_forward", module.patches_in_forward},
                       {"branches", module.branches},
                       {"loaded", module.loaded}});
  }
  return {{"part", plan.part},
          {"architecture", plan.architecture},
          {"stored_bytes", plan.stored_bytes},
          {"resident_bytes", plan.resident_bytes},
          {"on_demand_bytes", plan.on_demand_bytes},
          {"pinned_bytes", plan.pinned_bytes},
          {"patches_in_forward", plan.patches_in_forward},
          {"account",
           {{"weights", plan.weight_bytes},
            {"patches", plan.patch_bytes},
            {"weights_loaded", plan.loaded_weight_bytes},
            {"patches_loaded", plan.loaded_patch_bytes}}},
          {"modules", std::move(modules)}};
}

ordered_json to_json(const LoadReport& report, const EngineOptions& options) {
  ordered_json parts = ordered_json::array();
  for (const PartPlan& plan : report.parts) parts.push_back(to_json(plan));
  ordered_json entries = ordered_json::array();
  for (const MemoryEntry& entry : report.account.entries) {
    entries.push_back({{"owner", entry.owner},
                       {"module", entry.name},
                       {"tier", entry.tier},
                       {"bytes", entry.bytes},
                       {"in_use", entry.in_use},
                       {"last_use", entry.last_use}});
  }
  ordered_json memory = totals_json(report.account);
  memory["entries"] = std::move(entries);
  return {{"model", report.model},          {"file", report.file},      {"lora_apply_mode", options.lora_apply_mode},
          {"residency", options.residency}, {"plan", std::move(parts)}, {"memory", std::move(memory)}};
}

// The part of a path behind its folders.
std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

size_t count_in(const PartPlan& plan, const char* place) {
  return static_cast<size_t>(std::ranges::count(plan.modules, place, &PlannedModule::place));
}

void print_totals(const LoadReport& report) {
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  table.add({"plan", "modules", "resident", "on demand", "in the file", "pinned", "patched in the forward"});
  for (const PartPlan& plan : report.parts) {
    const auto cell = [&](const char* place, uint64_t bytes) {
      const size_t count = count_in(plan, place);
      return count == 0 ? std::string("-") : std::to_string(count) + ": " + format_byte_size(bytes);
    };
    const size_t in_file = count_in(plan, "file");
    table.add({part_title(plan.part), std::to_string(plan.modules.size()), cell("resident", plan.resident_bytes),
               cell("on demand", plan.on_demand_bytes), in_file == 0 ? "-" : std::to_string(in_file),
               plan.pinned_bytes == 0 ? "-" : format_byte_size(plan.pinned_bytes),
               plan.patches_in_forward == 0 ? "-" : std::to_string(plan.patches_in_forward)});
  }
  std::printf("%s", table.text().c_str());
}

std::string remarks_on(const PlannedModule& module) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (module.patches_in_forward) {
    add("patched in the forward");
  } else if (module.patched) {
    add("patched");
  }
  if (module.branches > 0) add(std::to_string(module.branches) + (module.branches == 1 ? " side branch" : " side branches"));
  if (module.pinned) add("pinned");
  if (module.place == "resident" && !module.loaded) add("did not fit");
  return out;
}

void print_modules(const LoadReport& report, bool all) {
  std::vector<std::pair<const PartPlan*, const PlannedModule*>> modules;
  for (const PartPlan& plan : report.parts) {
    for (const PlannedModule& module : plan.modules) modules.emplace_back(&plan, &module);
  }
  std::ranges::stable_sort(modules, [](const auto& a, const auto& b) { return a.second->bytes > b.second->bytes; });
  const size_t shown = all ? modules.size() : std::min(modules.size(), kShown);
  TextTable table({Align::right, Align::left, Align::left, Align::left, Align::left});
  table.add({shown < modules.size() ? "largest" : "bytes", "place", "part", "module", ""});
  for (size_t i = 0; i < shown; ++i) {
    const auto& [plan, module] = modules[i];
    table.add({format_byte_size(module->bytes), module->place, part_title(plan->part), printable(module->name), remarks_on(*module)});
  }
  std::printf("\n%s", table.text().c_str());
  if (shown < modules.size()) std::printf("... %zu more (--all)\n", modules.size() - shown);
}

void print_account(const MemoryAccount& account, bool all) {
  std::printf("\nafter loading: %s resident of a budget of %s, at most %s; %s pinned of %s\n", format_byte_size(account.resident_bytes).c_str(),
              format_byte_size(account.budget_bytes).c_str(), format_byte_size(account.peak_resident_bytes).c_str(),
              format_byte_size(account.pinned_bytes).c_str(), format_byte_size(account.pinned_budget_bytes).c_str());
  if (account.entries.empty()) return;
  std::vector<const MemoryEntry*> entries;
  entries.reserve(account.entries.size());
  for (const MemoryEntry& entry : account.entries) entries.push_back(&entry);
  std::ranges::stable_sort(entries, [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  const size_t shown = all ? entries.size() : std::min(entries.size(), kShown);
  TextTable table({Align::right, Align::left, Align::right, Align::left, Align::left, Align::left});
  table.add({shown < entries.size() ? "largest" : "bytes", "tier", "last use", "in use", "owner", "module"});
  for (size_t i = 0; i < shown; ++i) {
    const MemoryEntry& entry = *entries[i];
    table.add({format_byte_size(entry.bytes), entry.tier, std::to_string(entry.last_use), entry.in_use ? "yes" : "no",
               printable(file_name(entry.owner)), printable(entry.name)});
  }
  std::printf("%s", table.text().c_str());
  if (shown < entries.size()) std::printf("... %zu more (--all)\n", entries.size() - shown);
}

int show(const MemoryOptions& options) {
  const VariantRequest request{options.model, parse_loras(options.loras)};
  const Engine engine(options.flags.options);
  const LoadReport report = engine.load(request);
  if (options.flags.json) {
    print_json(to_json(report, options.flags.options));
    return 0;
  }
  std::printf("%s (%s)\n\n", printable(report.model).c_str(), printable(report.file).c_str());
  print_totals(report);
  print_modules(report, options.all);
  print_account(report.account, options.all);
  if (!report.account.notice.empty()) std::fprintf(stderr, "note: %s\n", printable(report.account.notice).c_str());
  return 0;
}

}  // namespace

Command add_memory_command(CLI::App& app) {
  auto options = std::make_shared<MemoryOptions>();
  CLI::App* sub = app.add_subcommand("memory", "plan where a model's weights are to be, load it, and list what is in memory");
  sub->add_option("model", options->model, "checkpoint, a name in the model folder's checkpoints/")->required();
  add_lora_option(*sub, options->loras);
  sub->add_flag("--all", options->all, "show every module (--json always does)");
  options->flags.add_model_flags(*sub);
  options->flags.add_compute_flags(*sub);
  options->flags.add_memory_flags(*sub);
  options->flags.add_patch_flags(*sub);
  sub->footer("example: veneer memory shapes-sd-tiny.safetensors --lora style-night --memory-budget 16M --models models/demo");
  return {sub, [options] { return show(*options); }};
}

}  // namespace veneer::cli
