#include <memory>

#include "command.h"
#include "engine_flags.h"
#include "job_runner.h"
#include "lora_argument.h"
#include "value_checks.h"

namespace veneer::cli {
namespace {

struct Txt2ImgOptions {
  EngineFlags flags;
  TextToImage request;
  std::vector<std::string> loras;
};

}  // namespace

Command add_txt2img_command(CLI::App& app) {
  auto options = std::make_shared<Txt2ImgOptions>();
  TextToImage& request = options->request;
  CLI::App* sub = app.add_subcommand("txt2img", "draw a picture from a prompt");
  sub->add_option("-m,--model", request.model, "checkpoint, a name in the model folder's checkpoints/")->required();
  sub->add_option("-p,--prompt", request.prompt, "what to draw; (word:1.2) weighs a word")->required();
  sub->add_option("-n,--negative,--negative-prompt", request.negative, "what to keep out");
  add_lora_option(*sub, options->loras);
  sub->add_option("--steps", request.steps, "sampling steps")->check(CLI::Range(1, 10000))->capture_default_str();
  sub->add_option("--cfg,--cfg-scale", request.cfg, "guidance scale; 1 runs without the negative prompt")
      ->check(CLI::Range(0.0, 100.0))
      ->check(not_nan())
      ->capture_default_str();
  sub->add_option("--sampler,--sampling-method", request.sampler, "sampler, as KSampler names it (veneer nodes KSampler)")->capture_default_str();
  sub->add_option("--scheduler", request.scheduler, "noise schedule, as KSampler names it")->capture_default_str();
  sub->add_option("-s,--seed", request.seed, "seed of the noise, 0 to 18446744073709551615")->transform(seed_value())->capture_default_str();
  sub->add_option("-W,--width", request.width, "pixels, a multiple of 8")->check(CLI::Range(16, 16384))->check(multiple_of(8))->capture_default_str();
  sub->add_option("-H,--height", request.height, "pixels, a multiple of 8")
      ->check(CLI::Range(16, 16384))
      ->check(multiple_of(8))
      ->capture_default_str();
  sub->add_option("-b,--batch,--batch-count", request.batch, "pictures to draw at once")->check(CLI::Range(1, 4096))->capture_default_str();
  sub->add_option("--clip-skip", request.clip_skip, "1: last layer of the text encoder, 2: the one before")
      ->check(CLI::Range(0, 24))
      ->capture_default_str();
  options->flags.add_to(*sub);
  options->flags.add_profile_flag(*sub);
  sub->footer(
      "example: veneer txt2img -m shapes-sd-tiny.safetensors -p \"a yellow moon at night\" --lora style-outline:0.8 \\\n"
      "                        --cfg 5 -W 128 -H 128 --seed 1 --models models/demo");
  return {sub, [options] {
            options->request.loras = parse_loras(options->loras);
            return run_job(options->flags, {}, [&](Engine& engine, const JobOptions& with) { return engine.text_to_image(options->request, with); });
          }};
}

}  // namespace veneer::cli
