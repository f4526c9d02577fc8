// The engine: models, variants and workflows behind one object. Read this header first, then job.h.
//
//   veneer::Engine engine(veneer::EngineOptions{.model_folders = {"models/demo"}});
//   veneer::JobResult result = engine.run_workflow(json_text);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veneer/error.h"
#include "veneer/job.h"
#include "veneer/memory.h"
#include "veneer/variants.h"
#include "veneer/verify.h"
#include "veneer/workflow.h"

namespace veneer {

struct EngineOptions {
  // Folders with ComfyUI's sub-folders (checkpoints/, loras/, vae/, ...). Earlier ones win where two hold the same name.
  std::vector<std::string> model_folders = {};
  // Files in the form of ComfyUI's extra_model_paths.yaml: further folders by kind.
  std::vector<std::string> extra_model_paths = {};
  std::string home_folder = {};          // what "~" stands for in them
  std::string cache_folder = {};         // where hashes of models (see model_library.h) and rates of the machine are kept; empty: nowhere
  std::string input_folder = "input";    // where LoadImage looks
  std::string output_folder = "output";  // where SaveImage writes
  std::string temp_folder = {};          // where PreviewImage writes; empty: the folder temp in the output folder
  // "auto": bf16 where the CPU computes it natively (AMX-BF16, AVX512-BF16), else f32 with weights kept in 16 bits where their file has them so: the
  // results of "f32" in half the memory, for some hundredths of a step. "fastest": the faster of these two on this machine, which is measured once
  // and noted in cache_folder. Or "f32" (the same bits on every run), or "bf16".
  std::string dtype = "auto";
  int threads = 0;  // 0: one per core that the process may use
  // Bytes of ready-to-run weights that may stay in memory; what is over it is read, patched and packed again inside of each forward, with the same
  // result. 0: most of the machine's memory. A running job may need one module more.
  uint64_t memory_budget = 0;
  bool no_resident_weights = false;  // a budget of nothing at all
  // Bytes of a model's file that may be locked in memory (mlock) so that weights over the budget are read fast. 0: none.
  uint64_t pinned_budget = 0;
  // How adapters become part of a forward: "auto", "materialised" (patched weights are computed once and kept), "branch" (run beside the base's
  // weights where they are low-rank products: switching costs nothing), "on-demand" (patched inside of each forward, in less memory).
  std::string lora_apply_mode = "auto";
  // "classic": a load plan when a model starts to run. "dynamic": modules come and go on demand, the next one is fetched meanwhile.
  std::string residency = "classic";
  // "standard": adapter formats as they are defined. "reference": with the known faults of the reference implementation (docs/patch-kinds.md).
  std::string patch_compat = "standard";
  // The best instruction set to use, by name; empty: what the machine has. Unknown names are an error that lists the known ones.
  std::string max_isa = {};
  // Folders of node plug-ins (docs/plugins.md): code of others that runs inside of this process. Only what is named here is loaded.
  std::vector<std::string> plugin_folders = {};
  // A command that tries a plug-in, whose file it gets as last argument, in a process of its own: `veneer --probe-plugin`. Empty: no trial, and a
  // plug-in that crashes while it is loaded takes this process along.
  std::vector<std::string> plugin_probe = {};
  // Whether results of jobs tell where their time went (JobResult::profile).
  bool profile = false;
};

struct InputInfo {
  std::string name;
  std::string type;  // "INT", "MODEL", ...; choices are "COMBO"
  bool required = true;
  std::string detail;  // default, range or choices, for people
};

struct NodeInfo {
  std::string class_type;
  std::string display_name;
  std::string category;
  std::string description;
  std::vector<InputInfo> inputs;
  std::vector<std::pair<std::string, std::string>> outputs;  // name, type
};

// What became of a node plug-in.
struct PluginInfo {
  std::string name;
  std::string file;
  std::vector<std::string> classes;  // that it brought; empty when it was refused
  std::string refused;               // why; "" when it was not
};

// A text-to-image request in the words of the common command lines; `text_to_image_workflow` turns it into a workflow.
struct TextToImage {
  std::string model;
  std::string prompt;
  std::string negative;
  std::vector<std::pair<std::string, double>> loras;  // file name (".safetensors" may be left out), strength
  int steps = 20;
  double cfg = 7.0;
  std::string sampler = "euler";
  std::string scheduler = "normal";
  uint64_t seed = 0;
  int width = 512;
  int height = 512;
  int batch = 1;
  int clip_skip = 0;  // 1 or 2 as A1111 counts; 0 and 1 are the last layer
  std::string filename_prefix = "veneer";
};

class Engine {
 public:
  // Throws Error(invalid) for options that break a rule. Loads no model.
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Runs a workflow: the JSON text in ComfyUI's API format, {"prompt": {...}, "extra_data": {...}}, the form that the editor saves, or the bytes of a
  // PNG that carries one.
  // Loaded models and the outputs of nodes are kept for the next run. Throws Error: what breaks a rule before the run names node, input, value and
  // allowed values, or the output folder that cannot be written; a failure during the run names node and class. One call at a time.
  JobResult run_workflow(std::string_view workflow, const JobOptions& options = {});

  // The same on a workflow built from the request.
  JobResult text_to_image(const TextToImage& request, const JobOptions& options = {});

  // What is in memory now. May be called while a job runs.
  MemoryAccount memory() const;

  // What becomes of a checkpoint under adapters. Reads the files; computes no weight and runs no network. Throws Error: not_found for a name that no
  // folder has (with the nearest), corrupt or unsupported for a file that is no checkpoint or adapter, invalid for a strength out of range and for an
  // adapter of which no layer fits (with the file and both architectures). May be called while a job runs.
  VariantReport describe(const VariantRequest& request) const;

  // Compares a checkpoint as it is in memory with its file, tensor by tensor, every byte of both. The weights in memory are those that jobs of this
  // engine run on. `between`, if given, is called after loading and before comparing: what it runs must not change a weight. Throws what loading
  // does, and what `between` does.
  VerifyReport verify(const std::string& model, const std::function<void()>& between = {}) const;

  // Plans where the weights of a variant are to be, and makes them ready as a run would do. Throws what describe() does, and Error(no_memory).
  LoadReport load(const VariantRequest& request) const;

  // A workflow in any form that run_workflow() takes, in API format. Throws Error(invalid) for what is no workflow; what of it cannot be converted is
  // in the findings.
  ConvertedWorkflow convert_workflow(std::string_view workflow) const;

  // All that can be said of a workflow without running it. Throws Error(invalid) for what is no workflow at all, and for a broken lock.
  WorkflowReport validate(std::string_view workflow, const ValidateOptions& options = {}) const;

  // A copy that names models as the folders here do: '/' between folders, upper and lower case as on the disk, no absolute paths.
  PortableWorkflow make_portable(std::string_view workflow) const;

  // The nodes in the order in which they would run. Throws Error(invalid) for what is no workflow; faults that validate() tells are none here.
  std::string dump_graph(std::string_view workflow, GraphFormat format = GraphFormat::json) const;

  // The text of a lock: size and SHA-256 of every model that the workflow names. Throws Error(not_found) for one that does not exist.
  std::string lock_workflow(std::string_view workflow, const HashProgress& progress = {}) const;

  // The nodes that workflows may use, in alphabetical order of class.
  std::vector<NodeInfo> nodes() const;
  // One of them. Throws Error(not_found) with the nearest names.
  NodeInfo node(const std::string& class_type) const;

  // The node plug-ins that were found, in the order in which they were looked at. A faulty one is refused whole and does no other harm.
  const std::vector<PluginInfo>& plugins() const;

  // Names of the models of a kind ("checkpoints", "loras", ...), sorted.
  std::vector<std::string> models(const std::string& kind) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// API-format workflow JSON for a request. `model` and LoRA names are used as they stand.
std::string text_to_image_workflow(const TextToImage& request);

}  // namespace veneer
