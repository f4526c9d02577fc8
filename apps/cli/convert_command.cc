#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "byte_size.h"
#include "command.h"
#include "error_report.h"
#include "file_progress.h"
#include "interruption.h"
#include "part_title.h"
#include "terminal_text.h"
#include "veneer/model_files.h"

namespace veneer::cli {
namespace {

using nlohmann::ordered_json;

struct ConvertOptions {
  ConvertRequest request;
  bool json = false;
};

ordered_json to_json(const ConvertReport& report) {
  return {{"source", report.source},
          {"target", report.target},
          {"source_format", report.source_format},
          {"target_format", report.target_format},
          {"source_sha256", report.source_sha256},
          {"tensors_sha256", report.tensors_sha256},
          {"source_bytes", report.source_bytes},
          {"target_bytes", report.target_bytes},
          {"tensors", report.num_tensors},
          {"converted", report.num_converted},
          {"left_out", report.num_left_out},
          {"renamed_metadata", report.renamed_metadata}};
}

void print(const ConvertReport& report) {
  std::printf("%s -> %s\n", printable(report.source).c_str(), printable(report.target).c_str());
  std::printf("format          %s -> %s\n", report.source_format.c_str(), report.target_format.c_str());
  std::printf("bytes           %s -> %s\n", format_byte_size(report.source_bytes).c_str(), format_byte_size(report.target_bytes).c_str());
  std::printf("tensors         %zu, of which %zu in another dtype; %zu left out\n", report.num_tensors, report.num_converted, report.num_left_out);
  for (const auto& [from, to] : report.renamed_metadata) std::printf("metadata        %s -> %s\n", printable(from).c_str(), printable(to).c_str());
  std::printf("source SHA-256  %s\n", report.source_sha256.c_str());
  std::printf("tensors SHA-256 %s, read back from the disk\n", report.tensors_sha256.c_str());
}

int show(const ConvertOptions& options) {
  const Interruption interruption;
  FileProgressLine line(options.json);
  const ConvertReport report = convert_model(options.request, line.callback());
  line.finish();
  if (options.json) {
    print_json(to_json(report));
  } else {
    print(report);
  }
  return 0;
}

}  // namespace

Command add_convert_command(CLI::App& app) {
  auto options = std::make_shared<ConvertOptions>();
  ConvertRequest& request = options->request;
  CLI::App* sub =
      app.add_subcommand("convert", "write a model file in another format or dtype; what is written is read back before it gets its name");
  sub->add_option("source", request.source, "model file of any format")->required();
  sub->add_option("target", request.target,
                  "file to write: GGUF if the name ends with .gguf, shards if it ends with .safetensors.index.json, else safetensors")
      ->required();
  sub->add_option("--dtype", request.dtype, "dtype of the floating tensors: f32, f16, bf16, f8_e4m3fn, f8_e5m2");
  sub->add_option("--quantise,--quantize", request.quantise,
                  "of matrices: q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4_0, q3_k, q2_k (GGUF), fp8_scaled (safetensors)");
  sub->add_option("--extract", request.extract, "one part alone: unet, vae, clip");
  sub->add_flag("--prune-ema", request.prune_ema, "leave out the running averages of a training");
  sub->add_flag("--strip", request.strip, "leave out whatever no network runs on, and most metadata");
  sub->add_option("--sha256", request.source_sha256, "what the source has to be: 64 digits 0-9 a-f, in either case");
  sub->add_flag("--replace", request.replace, "take the place of a target that exists, which may be the source");
  sub->add_option_function<std::string>(
         "--shard-size", [&request](const std::string& text) { request.shard_bytes = parse_byte_size(text).value_or(0); },
         "of shards, the most that each has of tensors")
      ->type_name("SIZE")
      ->check(byte_size(false))
      ->default_str("5G");
  sub->add_flag("--json", options->json, "print JSON on standard output");
  sub->footer("example: veneer convert model.ckpt model.safetensors --dtype f16 --prune-ema");
  return {sub, [options] { return show(*options); }};
}

}  // namespace veneer::cli
