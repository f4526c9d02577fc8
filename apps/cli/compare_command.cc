#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "byte_size.h"
#include "command.h"
#include "error_report.h"
#include "file_progress.h"
#include "part_title.h"
#include "terminal_text.h"
#include "text_table.h"
#include "veneer/model_files.h"

namespace veneer::cli {
namespace {

using nlohmann::ordered_json;
using Align = TextTable::Align;

struct CompareOptions {
  std::string a, b;
  bool json = false;
  bool all = false;
};

constexpr size_t kShown = 20;         // tensors without --all
constexpr size_t kMostOfAField = 48;  // bytes of a value in the table

// JSON has no infinity.
ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json("infinity"); }

ordered_json to_json(const ComparedFile& file) {
  ordered_json out = {
      {"file", file.file}, {"format", file.format}, {"tensors", file.num_tensors}, {"bytes", file.size_bytes}, {"dtypes", file.dtypes}};
  if (!file.prefix.empty()) out["prefix"] = file.prefix;
  return out;
}

const char* state_of(const ComparedTensor& tensor) {
  if (!tensor.in_b) return "missing";
  if (!tensor.in_a) return "extra";
  if (tensor.same_bytes) return "equal";
  if (!tensor.same_shape()) return "shape";
  return tensor.same_values() ? "same values" : "different";
}

ordered_json side(const std::string& dtype, const std::string& shape, const std::string& sha256) {
  return {{"dtype", dtype}, {"shape", shape.empty() ? ordered_json() : ordered_json::parse(shape)}, {"sha256", sha256}};
}

ordered_json to_json(const ComparedTensor& tensor) {
  ordered_json out = {{"name", tensor.name}, {"state", state_of(tensor)}};
  if (tensor.in_a) out["a"] = side(tensor.a_dtype, tensor.a_shape, tensor.a_sha256);
  if (tensor.in_b) out["b"] = side(tensor.b_dtype, tensor.b_shape, tensor.b_sha256);
  out["equal_hash"] = tensor.same_bytes;
  if (tensor.same_shape()) {
    out["largest_absolute_difference"] = number(tensor.largest_absolute);
    out["largest_relative_difference"] = number(tensor.largest_relative);
  }
  return out;
}

ordered_json to_json(const ModelComparison& result) {
  ordered_json fields = ordered_json::array(), tensors = ordered_json::array();
  for (const ComparedField& field : result.fields) {
    ordered_json item = {{"field", field.field}, {"equal", field.equal()}};
    if (!field.a_key.empty()) item["a"] = {{"key", field.a_key}, {"value", field.a}};
    if (!field.b_key.empty()) item["b"] = {{"key", field.b_key}, {"value", field.b}};
    fields.push_back(std::move(item));
  }
  for (const ComparedTensor& tensor : result.tensors) tensors.push_back(to_json(tensor));
  return {{"equal", result.same_tensors() && result.same_fields()},
          {"same_tensors", result.same_tensors()},
          {"same_fields", result.same_fields()},
          {"a", to_json(result.a)},
          {"b", to_json(result.b)},
          {"fields", std::move(fields)},
          {"counts",
           {{"equal", result.num_equal},
            {"same_values", result.num_same_values},
            {"different", result.num_different},
            {"missing", result.num_missing},
            {"extra", result.num_extra}}},
          {"tensors", std::move(tensors)}};
}

void print_files(const ModelComparison& result) {
  TextTable table({Align::left, Align::left, Align::right, Align::right, Align::left});
  table.add({"file", "format", "tensors", "bytes", "dtypes"});
  for (const ComparedFile* file : {&result.a, &result.b}) {
    std::string dtypes;
    for (const auto& [dtype, count] : file->dtypes) dtypes += (dtypes.empty() ? "" : ", ") + std::to_string(count) + " " + dtype;
    table.add({printable(file->file), file->format, std::to_string(file->num_tensors), format_byte_size(file->size_bytes), dtypes});
  }
  std::printf("%s", table.text().c_str());
  for (const ComparedFile* file : {&result.a, &result.b}) {
    if (!file->prefix.empty()) std::printf("names of %s without \"%s\"\n", printable(file->file).c_str(), file->prefix.c_str());
  }
}

void print_fields(const ModelComparison& result) {
  if (result.fields.empty()) return;
  TextTable table({Align::left, Align::left, Align::left, Align::left});
  table.add({"field", "", "a", "b"});
  for (const ComparedField& field : result.fields) {
    const auto value = [](const std::string& key, const std::string& text) {
      return key.empty() ? std::string("-") : printable(text, kMostOfAField);
    };
    table.add({printable(field.field), field.equal() ? "=" : "!", value(field.a_key, field.a), value(field.b_key, field.b)});
  }
  std::printf("\n%s", table.text().c_str());
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

void print_tensors(const ModelComparison& result, bool all) {
  TextTable table({Align::left, Align::left, Align::left, Align::left, Align::right, Align::right});
  table.add({"tensor", "", "a", "b", "absolute", "relative"});
  const size_t most = all ? result.tensors.size() : kShown;
  size_t shown = 0, found = 0;
  for (const ComparedTensor& tensor : result.tensors) {
    if (tensor.same_bytes && !all) continue;
    ++found;
    if (shown == most) continue;
    ++shown;
    const auto what = [](bool there, const std::string& dtype, const std::string& shape) {
      return there ? std::string(dtype).append(" ").append(shape) : "-";
    };
    const bool values = tensor.same_shape();
    table.add({printable(tensor.name), state_of(tensor), what(tensor.in_a, tensor.a_dtype, tensor.a_shape),
               what(tensor.in_b, tensor.b_dtype, tensor.b_shape), values ? short_number(tensor.largest_absolute) : "",
               values ? short_number(tensor.largest_relative) : ""});
  }
  if (shown > 0) std::printf("\n%s", table.text().c_str());
  if (shown < found) std::printf("... %zu more (--all)\n", found - shown);
}

int show(const CompareOptions& options) {
  FileProgressLine line(options.json);
  const ModelComparison result = compare_models(options.a, options.b, line.callback());
  line.finish();
  if (options.json) {
    print_json(to_json(result));
  } else {
    print_files(result);
    print_fields(result);
    print_tensors(result, options.all);
    std::printf("\n%zu equal, %zu with the same values, %zu different, %zu missing, %zu extra\n", result.num_equal, result.num_same_values,
                result.num_different, result.num_missing, result.num_extra);
  }
  return result.same_tensors() ? 0 : kFailed;
}

}  // namespace

Command add_compare_command(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* sub =
      app.add_subcommand("compare", "compare two model files, of any formats, field by field and tensor by tensor; exit code 1 when tensors differ");
  sub->add_option("a", options->a, "model file")->required();
  sub->add_option("b", options->b, "model file")->required();
  sub->add_flag("--all", options->all, "show every tensor (--json always does)");
  sub->add_flag("--json", options->json, "print JSON on standard output");
  sub->footer("example: veneer compare model.ckpt model.safetensors --json");
  return {sub, [options] { return show(*options); }};
}

}  // namespace veneer::cli
