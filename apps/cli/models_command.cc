#include "command.h"

#include <cstdio>
#include <memory>

#include "byte_size.h"
#include "engine_flags.h"
#include "error_report.h"
#include "hash_progress.h"
#include "interruption.h"
#include "models_report.h"
#include "terminal_text.h"
#include "veneer/model_library.h"

namespace veneer::cli {
namespace {

struct ModelsFlags {
  EngineFlags flags;
  std::string kind;
  std::vector<std::string> references;
  AddModelRequest add;
  bool long_list = false;
  bool rehash = false;
};

ModelLibrary open_library(const ModelsFlags& options) {
  const EngineOptions& engine = options.flags.options;
  return ModelLibrary({engine.model_folders, engine.extra_model_paths, engine.home_folder, engine.cache_folder});
}

// That hashes are not kept is worth a line, and no fault.
void print_notice(const ModelLibrary& library) {
  const std::string notice = library.notice();
  if (!notice.empty()) std::fprintf(stderr, "note: hashes are not kept: %s\n", printable(notice, kMostOfAValue).c_str());
}

int list(const ModelsFlags& options) {
  const ModelLibrary library = open_library(options);
  const std::vector<ModelEntry> models = library.list(options.kind, options.long_list || options.flags.json);
  if (options.flags.json) {
    print_json(to_json(models));
  } else {
    print_list(models, options.long_list);
  }
  print_notice(library);
  return 0;
}

int show(const ModelsFlags& options) {
  const ModelLibrary library = open_library(options);
  const ModelEntry model = library.show(options.references.front(), options.kind);
  if (options.flags.json) {
    print_json(to_json(model));
  } else {
    print_model(model);
  }
  print_notice(library);
  return model.problem.empty() ? 0 : kFailed;
}

int verify(const ModelsFlags& options) {
  const Interruption interruption;
  const ModelLibrary library = open_library(options);
  const HashProgressLine progress(options.flags.json);
  const std::vector<VerifiedModel> models = library.verify(options.references, options.kind, progress.callback(), options.rehash);
  if (options.flags.json) {
    print_json(to_json(models));
  } else {
    print_verified(models);
  }
  print_notice(library);
  for (const VerifiedModel& model : models) {
    if (!model.problem.empty()) return kFailed;
  }
  return 0;
}

int add(const ModelsFlags& options) {
  const Interruption interruption;
  const ModelLibrary library = open_library(options);
  const VerifiedModel model = library.add(options.add, HashProgressLine(options.flags.json).callback());
  if (options.flags.json) {
    print_json(to_json(std::vector{model}));
  } else {
    print_verified({model});
    std::printf("%s/%s: %s\n", model.kind.c_str(), printable(model.name).c_str(), printable(model.file).c_str());
  }
  print_notice(library);
  return 0;
}

int collect(const ModelsFlags& options) {
  const ModelLibrary library = open_library(options);
  const ModelLibrary::Collected collected = library.collect();
  if (options.flags.json) {
    print_json({{"hashes", collected.hashes}, {"links", collected.links}});
  } else {
    std::printf("forgot %zu hashes and removed %zu links of files that are gone or were changed\n", collected.hashes, collected.links);
  }
  print_notice(library);
  return 0;
}

// Every sub-command has flags of its own to fill.
using Action = int (*)(const ModelsFlags&);
struct SubCommand {
  CLI::App* app;
  std::shared_ptr<ModelsFlags> flags;
  Action action;
};

SubCommand add_sub(CLI::App& parent, const char* name, const char* text, Action action, const char* example) {
  SubCommand out{parent.add_subcommand(name, text), std::make_shared<ModelsFlags>(), action};
  out.flags->flags.add_model_flags(*out.app);
  out.app->footer(std::string("example: veneer models ") + example);
  out.app->add_option("--kind", out.flags->kind, "checkpoints, loras, vae, text_encoders, ...")->type_name("KIND");
  return out;
}

}  // namespace

Command add_models_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("models", "list, describe, verify and add model files");
  sub->require_subcommand(1);
  auto commands = std::make_shared<std::vector<SubCommand>>();
  commands->push_back(add_sub(*sub, "list", "the models of one kind, or of all", list, "list --kind loras --long"));
  commands->back().app->add_flag("-l,--long", commands->back().flags->long_list, "with what each file is, by its header");
  commands->push_back(add_sub(*sub, "show", "what a model is, by its header", show, "show shapes-sd-tiny.safetensors"));
  const char* forms = "name, MODEL@VERSION, sha256:..., cache key, or path";
  commands->back().app->add_option("model", commands->back().flags->references, forms)->required()->expected(1);
  commands->push_back(add_sub(*sub, "verify", "hash models that are not known yet, read their headers, and link them under their cache keys", verify,
                              "verify --rehash"));
  commands->back().app->add_option("models", commands->back().flags->references, forms);
  commands->back().app->add_flag("--rehash", commands->back().flags->rehash, "read every file again, though its hash is known");
  commands->push_back(add_sub(*sub, "add", "put a file into the folder of its kind", add, "add style.safetensors --id maker/style@v1"));
  AddModelRequest& request = commands->back().flags->add;
  commands->back().app->add_option("file", request.file, "the model")->required()->check(CLI::ExistingFile);
  commands->back().app->add_option("--name", request.name, "name in the folder, which may have sub-folders; default: the file's own");
  commands->back().app->add_option("--id", request.id, "folder of a version, e.g. stabilityai/sdxl-turbo@v2.1")->type_name("MODEL@VERSION");
  commands->back().app->add_flag("--link", request.link, "a symbolic link instead of a copy");
  commands->push_back(add_sub(*sub, "gc", "forget hashes and links of files that are gone or were changed", collect, "gc"));
  sub->footer("example: veneer models show shapes-sd-tiny.safetensors");
  return {sub, [commands] {
            for (const SubCommand& command : *commands) {
              if (!command.app->parsed()) continue;
              command.flags->add.kind = command.flags->kind;
              return command.action(*command.flags);
            }
            return kFailed;
          }};
}

}  // namespace veneer::cli
