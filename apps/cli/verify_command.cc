#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "byte_size.h"
#include "command.h"
#include "engine_flags.h"
#include "error_report.h"
#include "job_runner.h"
#include "part_title.h"
#include "terminal_text.h"
#include "text_table.h"
#include "workflow_file.h"

namespace veneer::cli {
namespace {

using nlohmann::ordered_json;
using Align = TextTable::Align;

struct VerifyOptions {
  EngineFlags flags;
  std::string model;
  std::string after;  // a workflow; empty: none
  bool all = false;
};

constexpr size_t kShown = 10;  // tensors without --all

// What was run in between.
struct Between {
  std::optional<JobResult> result;
  std::optional<Error> error;
};

ordered_json to_json(const VerifiedPart& part, bool between) {
  ordered_json different = ordered_json::array();
  for (const DifferentTensor& tensor : part.different) {
    different.push_back({{"key", tensor.key}, {"tensor", tensor.name}, {"file_sha256", tensor.file_sha256}, {"memory_sha256", tensor.memory_sha256}});
  }
  ordered_json not_compared = ordered_json::array();
  for (const UncomparedTensor& tensor : part.not_compared) not_compared.push_back({{"key", tensor.key}, {"reason", tensor.reason}});
  ordered_json out = {{"part", part.part},
                      {"architecture", part.architecture},
                      {"ok", part.ok()},
                      {"tensors", part.num_tensors},
                      {"bytes", part.size_bytes},
                      {"file_sha256", part.file_sha256},
                      {"memory_sha256", part.memory_sha256},
                      {"different", std::move(different)},
                      {"not_compared", std::move(not_compared)}};
  if (!between) return out;
  out["changed"] = part.changed();
  out["fingerprint_before"] = part.fingerprint_before;
  out["fingerprint_after"] = part.fingerprint_after;
  return out;
}

ordered_json to_json(const VerifyReport& report, const VerifyOptions& options, const Between& between) {
  ordered_json parts = ordered_json::array();
  for (const VerifiedPart& part : report.parts) parts.push_back(to_json(part, !options.after.empty()));
  ordered_json out = {{"model", report.model},
                      {"file", report.file},
                      {"ok", report.ok() && !between.error},
                      {"parts", std::move(parts)},
                      {"unused_tensors", report.num_unused}};
  if (!report.broken_file.empty()) {
    out["broken_checksum"] = {{"file", report.broken_file}, {"told", report.told_sha256}, {"tensors_sha256", report.tensors_sha256}};
  }
  if (options.after.empty()) return out;
  ordered_json images = ordered_json::array();
  if (between.result) {
    for (const SavedImage& image : between.result->images) images.push_back(image.path);
  }
  out["after"] = {{"workflow", options.after}, {"finished", !between.error}, {"images", std::move(images)}};
  return out;
}

std::string digest_or(const std::string& digest, const char* otherwise) { return digest.empty() ? otherwise : digest; }

void print_differences(const VerifiedPart& part, bool all) {
  const size_t shown = all ? part.different.size() : std::min(part.different.size(), kShown);
  if (shown > 0) std::printf("\n%s, different tensors:\n", part_title(part.part).c_str());
  for (size_t i = 0; i < shown; ++i) {
    const DifferentTensor& tensor = part.different[i];
    std::printf("  %s\n", printable(tensor.key).c_str());
    const std::string name = tensor.name.empty() ? "" : "  " + printable(tensor.name);
    std::printf("    file    %s%s\n", digest_or(tensor.file_sha256, tensor.name.empty() ? "no such tensor" : "ends before the tensor does").c_str(),
                name.c_str());
    std::printf("    memory  %s\n", digest_or(tensor.memory_sha256, tensor.file_sha256.empty() ? "not read" : "no such tensor").c_str());
  }
  if (shown < part.different.size()) std::printf("  ... %zu more (--all)\n", part.different.size() - shown);
}

void print_uncompared(const VerifiedPart& part, bool all) {
  const size_t shown = all ? part.not_compared.size() : std::min(part.not_compared.size(), kShown);
  if (shown > 0) std::printf("\n%s, not compared:\n", part_title(part.part).c_str());
  for (size_t i = 0; i < shown; ++i) std::printf("  %s: %s\n", printable(part.not_compared[i].key).c_str(), part.not_compared[i].reason.c_str());
  if (shown < part.not_compared.size()) std::printf("  ... %zu more (--all)\n", part.not_compared.size() - shown);
}

void print_parts(const VerifyReport& report) {
  std::printf("%s (%s)\n\n", printable(report.model).c_str(), printable(report.file).c_str());
  TextTable table({Align::left, Align::right, Align::right, Align::left, Align::left});
  table.add({"part", "tensors", "bytes", "SHA-256 of the file", "memory"});
  for (const VerifiedPart& part : report.parts) {
    const std::string verdict = part.different.empty() ? "equal" : std::to_string(part.different.size()) + " different";
    table.add({part_title(part.part), std::to_string(part.num_tensors), format_byte_size(part.size_bytes), part.file_sha256, verdict});
  }
  std::printf("%s", table.text().c_str());
}

void print_verdict(const VerifyReport& report, const VerifyOptions& options, bool finished) {
  size_t tensors = 0, different = 0, uncompared = 0;
  std::string changed;
  for (const VerifiedPart& part : report.parts) {
    tensors += part.num_tensors;
    different += part.different.size();
    uncompared += part.not_compared.size();
    if (part.changed()) changed += (changed.empty() ? "" : ", ") + part_title(part.part);
  }
  std::printf("\n");
  if (different == 0) std::printf("equal: all %zu tensors in memory are those of the file\n", tensors);
  if (different > 0)
    std::printf("different: %s in memory %s not what the file holds\n", count_of(different, "tensor").c_str(), different == 1 ? "is" : "are");
  if (!report.broken_file.empty()) {
    std::printf("broken: the tensors of %s are not those that its header tells\n  told   %s\n  they are %s\n", printable(report.broken_file).c_str(),
                printable(report.told_sha256, kMostOfAValue).c_str(), report.tensors_sha256.c_str());
  }
  if (uncompared > 0) std::printf("not compared: %s that the loader made\n", count_of(uncompared, "tensor").c_str());
  if (report.num_unused > 0) std::printf("not loaded: %s of the file that no part uses\n", count_of(report.num_unused, "tensor").c_str());
  if (options.after.empty()) return;
  if (changed.empty() && !finished) {
    std::printf("not known: %s ended with an error, so what it does to the weights was not seen\n", printable(options.after).c_str());
  } else if (changed.empty()) {
    std::printf("unchanged: %s left every weight as it was\n", printable(options.after).c_str());
  } else {
    std::printf("changed: while %s ran, weights in memory became others: %s\n", printable(options.after).c_str(), changed.c_str());
  }
}

VerifyReport verify(const VerifyOptions& options, Between& between) {
  if (options.after.empty()) return Engine(options.flags.options).verify(options.model);
  const std::string workflow = read_workflow_file(options.after);
  Engine engine(options.flags.options);
  return engine.verify(options.model, [&] {
    try {
      between.result = watch_job(options.flags.json, {}, [&](const JobOptions& watched) { return engine.run_workflow(workflow, watched); });
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      between.error = error.with("workflow", options.after);  // what a failed job left of the weights counts all the more
    }
  });
}

int show(const VerifyOptions& options) {
  Between between;
  const VerifyReport result = verify(options, between);
  if (options.flags.json) {
    const ordered_json json = to_json(result, options, between);
    if (between.error) {
      report(*between.error, true, json);
    } else {
      print_json(json);
    }
  } else {
    print_parts(result);
    for (const VerifiedPart& part : result.parts) {
      print_differences(part, options.all);
      print_uncompared(part, options.all);
    }
    print_verdict(result, options, !between.error);
    if (between.error) report(*between.error, false);
  }
  return result.ok() && !between.error ? 0 : kFailed;
}

}  // namespace

Command add_verify_command(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* sub = app.add_subcommand("verify", "compare a model in memory with its file, tensor by tensor; exit code 1 when they differ");
  sub->add_option("model", options->model, "checkpoint, a name in the model folder's checkpoints/")->required();
  sub->add_option("--after", options->after, "run a workflow on the loaded model first, and tell whether it changed a weight")->type_name("WORKFLOW");
  sub->add_flag("--all", options->all, "show every different tensor (--json always does)");
  options->flags.add_to(*sub);
  sub->footer("example: veneer verify shapes-sd-tiny.safetensors --after workflows/lora_stack.json --models models/demo");
  return {sub, [options] { return show(*options); }};
}

}  // namespace veneer::cli
