#include "models_report.h"

#include <cstdio>
#include <string>

#include "byte_size.h"
#include "terminal_text.h"
#include "text_table.h"

namespace veneer::cli {
namespace {

using nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr size_t kKeyDigits = 16;
constexpr size_t kMostOfMetadata = 200;

std::string dtypes_of(const ModelEntry& model) {
  std::string out;
  for (const auto& [dtype, count] : model.dtypes) out += (out.empty() ? "" : ", ") + dtype + " x " + std::to_string(count);
  return out;
}

std::string described(const ModelEntry& model) {
  if (!model.problem.empty()) return "unreadable: " + printable(model.problem, kMostOfMetadata);
  if (model.title.empty()) return "of no known kind";
  return model.title + (model.detail.empty() ? "" : ", " + model.detail);
}

void print_fact(const char* name, const std::string& value) {
  if (!value.empty()) std::printf("%-12s %s\n", name, value.c_str());
}

}  // namespace

ordered_json to_json(const ModelEntry& model) {
  ordered_json out = {{"kind", model.kind}, {"name", model.name}, {"file", model.file}, {"size", model.size_bytes}};
  out["sha256"] = model.sha256;
  out["cache_key"] = model.cache_key;
  out["type"] = model.type;
  out["family"] = model.family;
  out["title"] = model.title;
  out["detail"] = model.detail;
  out["format"] = model.format;
  out["dtypes"] = model.dtypes;
  out["tensors"] = model.num_tensors;
  out["parameters"] = model.num_parameters;
  out["metadata"] = model.metadata;
  out["problem"] = model.problem;
  return out;
}

ordered_json to_json(const std::vector<ModelEntry>& models) {
  ordered_json out = ordered_json::array();
  for (const ModelEntry& model : models) out.push_back(to_json(model));
  return out;
}

ordered_json to_json(const std::vector<VerifiedModel>& models) {
  ordered_json out = ordered_json::array();
  for (const VerifiedModel& model : models) {
    out.push_back({{"kind", model.kind},
                   {"name", model.name},
                   {"file", model.file},
                   {"sha256", model.sha256},
                   {"cache_key", model.cache_key},
                   {"link", model.link},
                   {"was_known", model.was_known},
                   {"problem", model.problem}});
  }
  return out;
}

void print_list(const std::vector<ModelEntry>& models, bool with_types) {
  TextTable table({Align::left, Align::left, Align::right, Align::left, Align::left});
  table.add({"kind", "name", "size", "sha256", with_types ? "what" : ""});
  for (const ModelEntry& model : models) {
    table.add({model.kind, printable(model.name), format_byte_size(model.size_bytes), model.sha256.empty() ? "-" : model.sha256.substr(0, kKeyDigits),
               with_types || !model.problem.empty() ? described(model) : ""});
  }
  std::printf("%s", table.text().c_str());
}

void print_model(const ModelEntry& model) {
  print_fact("name", printable(model.name));
  print_fact("kind", model.kind);
  print_fact("file", printable(model.file));
  print_fact("what", described(model));
  print_fact("family", model.family);
  print_fact("format", model.format);
  print_fact("size", format_byte_size(model.size_bytes));
  print_fact("tensors", std::to_string(model.num_tensors) + " (" + dtypes_of(model) + ")");
  print_fact("parameters", std::to_string(model.num_parameters));
  print_fact("sha256", model.sha256.empty() ? "not known: veneer models verify" : model.sha256);
  print_fact("cache key", printable(model.cache_key));
  for (const auto& [key, value] : model.metadata) {
    std::printf("  %s: %s\n", printable(key, kMostOfMetadata).c_str(), printable(value, kMostOfMetadata).c_str());
  }
}

void print_verified(const std::vector<VerifiedModel>& models) {
  for (const VerifiedModel& model : models) {
    const std::string where = (model.kind.empty() ? "" : model.kind + "/") + printable(model.name);
    if (model.problem.empty()) {
      std::printf("%s  %s%s\n", model.sha256.c_str(), where.c_str(), model.was_known ? "  (known)" : "");
    } else {
      std::printf("%-64s  %s: %s\n", "FAILED", where.c_str(), printable(model.problem, kMostOfAValue).c_str());
    }
  }
}

}  // namespace veneer::cli
