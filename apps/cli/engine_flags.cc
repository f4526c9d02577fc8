#include "engine_flags.h"

#include "value_checks.h"

namespace veneer::cli {

void EngineFlags::add_to(CLI::App& app) {
  options.model_folders = {"models/demo"};
  app.add_option("--models", options.model_folders, "model folders with ComfyUI's sub-folders (checkpoints/, loras/, vae/, ...)")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--input", options.input_folder, "folder that LoadImage reads from")->type_name("DIR")->capture_default_str();
  app.add_option("--output", options.output_folder, "folder that SaveImage writes to")->type_name("DIR")->check(not_empty())->capture_default_str();
  app.add_option("--temp", options.temp_folder, "folder that PreviewImage writes to; default: temp in the output folder")->type_name("DIR");
  app.add_option("--dtype", options.dtype, "auto (bf16 where the CPU has instructions for it), f32 (the same bits on every run) or bf16")
      ->check(CLI::IsMember({"auto", "f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads to compute with; 0: one per core")->check(CLI::Range(0, 1024))->capture_default_str();
  app.add_option("--isa", options.max_isa, "the best instruction set to use, by name; default: what the CPU has")->type_name("NAME");
  app.add_flag("--json", json, "print one JSON object instead of text");
}

}  // namespace veneer::cli
