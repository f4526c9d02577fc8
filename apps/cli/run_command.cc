#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "command.h"
#include "engine_flags.h"
#include "job_runner.h"
#include "value_checks.h"

namespace veneer::cli {
namespace {

struct RunOptions {
  EngineFlags flags;
  std::string workflow;
  std::vector<std::string> set;
  std::optional<uint64_t> seed;
};

// As much as a workflow may have (graph::JsonLimits).
constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr size_t kBlock = size_t{1} << 20;

// Reads on only until the limit is broken: a device or a pipe may have no end.
std::string read_stream(std::FILE* in, const std::string& name) {
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(std::min(before + kBlock, kMaxBytes + 1));
    errno = 0;
    const size_t count = std::fread(text.data() + before, 1, text.size() - before, in);
    const int failure = errno;
    text.resize(before + count);
    if (text.size() > kMaxBytes) {
      throw Error(ErrorCode::invalid, "the workflow is too large", {{"file", name}, {"limit", std::to_string(kMaxBytes) + " bytes (64 MiB)"}});
    }
    if (std::ferror(in) != 0) {
      throw Error(ErrorCode::invalid, "cannot read the workflow", {{"file", name}, {"reason", std::strerror(failure)}});
    }
    if (count == 0 || std::feof(in) != 0) return text;
  }
}

std::string read_all(const std::string& path) {
  if (path == "-") return read_stream(stdin, "standard input");
  std::error_code unknown;  // what cannot be asked cannot be opened either, and that names the reason
  if (std::filesystem::is_directory(path, unknown)) throw Error(ErrorCode::invalid, "the workflow is a folder, not a file", {{"file", path}});
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (in == nullptr) {
    const int failure = errno;
    const ErrorCode code = failure == ENOENT || failure == ENOTDIR ? ErrorCode::not_found : ErrorCode::invalid;
    throw Error(code, "cannot open the workflow", {{"file", path}, {"reason", std::strerror(failure)}});
  }
  return read_stream(in.get(), path);
}

// "NODE.INPUT=VALUE"; a node id may contain dots, an input name does not.
std::pair<std::string, std::string> parse_set(const std::string& text) {
  const size_t equals = text.find('=');
  const size_t dot = equals == std::string::npos ? std::string::npos : text.rfind('.', equals);
  if (dot == std::string::npos || dot == 0 || dot + 1 == equals) {
    throw Error(ErrorCode::invalid, "--set takes NODE.INPUT=VALUE", {{"value", text}, {"example", "--set 3.steps=30"}});
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

Command add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run", "run a workflow (ComfyUI's API format, or a PNG that carries one)");
  sub->add_option("workflow", options->workflow, "WORKFLOW.json, PICTURE.png, or - for standard input")->required();
  sub->add_option("--set", options->set, "replace an input of a node, e.g. --set 3.steps=30")->type_name("NODE.INPUT=VALUE")->take_all();
  sub->add_option("--seed", options->seed, "replace every seed in the workflow, 0 to 18446744073709551615")->transform(seed_value());
  options->flags.add_to(*sub);
  sub->footer("example: veneer run workflows/txt2img.json --models models/demo --set 4.text=\"a green tree at sunset\" --seed 7");
  return {sub, [options] {
            const std::string workflow = read_all(options->workflow);
            JobOptions job;
            for (const std::string& text : options->set) job.set.push_back(parse_set(text));
            job.seed = options->seed;
            return run_job(options->flags, job, [&](Engine& engine, const JobOptions& with) {
              try {
                return engine.run_workflow(workflow, with);
              } catch (const Error& error) {
                if (error.code() == ErrorCode::cancelled) throw;
                throw error.with("workflow", options->workflow);
              }
            });
          }};
}

}  // namespace veneer::cli
