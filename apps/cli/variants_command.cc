#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "engine_flags.h"
#include "error_report.h"
#include "lora_argument.h"
#include "part_title.h"
#include "terminal_text.h"
#include "text_table.h"

namespace veneer::cli {
namespace {

using nlohmann::ordered_json;
using Align = TextTable::Align;

struct VariantsOptions {
  EngineFlags flags;
  std::string model;
  std::vector<std::string> loras;
  bool all = false;
};

constexpr size_t kShown = 5;  // entries of a list without --all

ordered_json to_json(const std::vector<AdapterMatch>& matches) {
  ordered_json out = ordered_json::array();
  for (const AdapterMatch& match : matches) out.push_back({{"layer", match.layer}, {"key", match.key}, {"kind", match.kind}});
  return out;
}

ordered_json to_json(const std::vector<AdapterMismatch>& mismatches) {
  ordered_json out = ordered_json::array();
  for (const AdapterMismatch& mismatch : mismatches) {
    out.push_back({{"layer", mismatch.layer},
                   {"key", mismatch.key},
                   {"reason", mismatch.reason},
                   {"want", mismatch.want},
                   {"got", mismatch.got},
                   {"tensors", mismatch.tensors}});
  }
  return out;
}

ordered_json to_json(const AdapterSummary& adapter) {
  ordered_json kinds = ordered_json::object();
  for (const auto& [kind, count] : adapter.kinds) kinds[kind] = count;
  return {{"name", adapter.name},
          {"file", adapter.file},
          {"strength", adapter.strength},
          {"architecture", adapter.architecture},
          {"kinds", std::move(kinds)},
          {"matched", to_json(adapter.matched)},
          {"mismatched", to_json(adapter.mismatched)},
          {"skipped", to_json(adapter.skipped)},
          {"overridden", to_json(adapter.overridden)},
          {"missing_keys", adapter.missing_keys},
          {"unused_layers", adapter.unused_layers},
          {"unused_keys", adapter.unused_keys}};
}

ordered_json to_json(const VariantReport& report) {
  ordered_json parts = ordered_json::array();
  for (const VariantPart& part : report.parts) {
    parts.push_back({{"part", part.part},
                     {"architecture", part.architecture},
                     {"fingerprint", part.fingerprint},
                     {"weights", part.num_weights},
                     {"patched_keys", part.patched_keys}});
  }
  ordered_json adapters = ordered_json::array();
  for (const AdapterSummary& adapter : report.adapters) adapters.push_back(to_json(adapter));
  return {{"model", report.model}, {"file", report.file}, {"parts", std::move(parts)}, {"adapters", std::move(adapters)}};
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string kinds_text(const AdapterSummary& adapter) {
  std::string out;
  for (const auto& [kind, count] : adapter.kinds) out += (out.empty() ? "" : ", ") + kind;
  return out;
}

void print_parts(const VariantReport& report) {
  std::printf("%s (%s)\n\n", printable(report.model).c_str(), printable(report.file).c_str());
  TextTable table({Align::left, Align::left, Align::left, Align::right, Align::left});
  table.add({"part", "architecture", "fingerprint", "patched", "weights"});
  for (const VariantPart& part : report.parts) {
    table.add({part_title(part.part), part.architecture, part.fingerprint, std::to_string(part.patched_keys.size()),
               "of " + std::to_string(part.num_weights)});
  }
  std::printf("%s", table.text().c_str());
}

void print_adapters(const VariantReport& report) {
  TextTable table({Align::left, Align::right, Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  table.add({"LoRA", "strength", "made for", "kinds", "matched", "mismatched", "overridden", "missing", "unused"});
  for (const AdapterSummary& adapter : report.adapters) {
    table.add({printable(adapter.name), number(adapter.strength), adapter.architecture, kinds_text(adapter), std::to_string(adapter.matched.size()),
               std::to_string(adapter.mismatched.size() + adapter.skipped.size()), std::to_string(adapter.overridden.size()),
               std::to_string(adapter.missing_keys.size()), std::to_string(adapter.unused_layers.size())});
  }
  std::printf("\n%s", table.text().c_str());
}

// A heading and rows under it; nothing where there are no rows.
template <typename Entry, typename Row>
void print_list(const AdapterSummary& adapter, const std::string& what, const std::vector<Entry>& entries, bool all, Row row) {
  if (entries.empty()) return;
  std::printf("\n%s: %s\n", printable(adapter.name).c_str(), what.c_str());
  const size_t shown = all ? entries.size() : std::min(entries.size(), kShown);
  TextTable table({Align::left, Align::left, Align::left});
  for (size_t i = 0; i < shown; ++i) table.add(row(entries[i]));
  std::printf("%s", table.text(2).c_str());
  if (shown < entries.size()) std::printf("  ... %zu more (--all)\n", entries.size() - shown);
}

void print_lists(const AdapterSummary& adapter, bool all) {
  using Cells = std::vector<std::string>;
  const auto match_row = [](const AdapterMatch& match) { return Cells{match.kind, printable(match.layer), printable(match.key)}; };
  const auto name_row = [](const std::string& name) { return Cells{printable(name)}; };
  const auto mismatch_row = [](const AdapterMismatch& mismatch) {
    const std::string shapes = mismatch.want.empty() ? "" : "want " + mismatch.want + ", got " + mismatch.got + ": ";
    return Cells{printable(mismatch.layer), printable(shapes + mismatch.reason), printable(mismatch.key)};
  };
  print_list(adapter, "mismatched, not used", adapter.mismatched, all, mismatch_row);
  print_list(adapter, "warning: skipped when weights are computed (--patch-compat reference)", adapter.skipped, all, mismatch_row);
  print_list(adapter, "unused, no such layer in the model", adapter.unused_layers, all, name_row);
  print_list(adapter, "missing, weights that the model does not have", adapter.missing_keys, all, name_row);
  print_list(adapter, "overridden by another layer of the file for the same weight", adapter.overridden, all, match_row);
  print_list(adapter, "matched", adapter.matched, all, match_row);
}

int show(const VariantsOptions& options) {
  const VariantRequest request{options.model, parse_loras(options.loras)};
  const Engine engine(options.flags.options);
  const VariantReport report = engine.describe(request);
  if (options.flags.json) {
    print_json(to_json(report));
    return 0;
  }
  print_parts(report);
  if (report.adapters.empty()) return 0;
  print_adapters(report);
  for (const AdapterSummary& adapter : report.adapters) print_lists(adapter, options.all);
  return 0;
}

}  // namespace

Command add_variants_command(CLI::App& app) {
  auto options = std::make_shared<VariantsOptions>();
  CLI::App* sub = app.add_subcommand("variants", "tell what LoRAs do to a model: fingerprints, and which of their layers fit");
  sub->add_option("model", options->model, "checkpoint, a name in the model folder's checkpoints/")->required();
  add_lora_option(*sub, options->loras);
  sub->add_flag("--all", options->all, "show the whole of every list (--json always does)");
  options->flags.add_model_flags(*sub);
  options->flags.add_compute_flags(*sub);
  options->flags.add_patch_flags(*sub);
  sub->footer("example: veneer variants shapes-sd-tiny.safetensors --lora style-night:0.8 --lora style-outline --models models/demo");
  return {sub, [options] { return show(*options); }};
}

}  // namespace veneer::cli
