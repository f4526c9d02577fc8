// The same request gives the same bytes; a variant never leaves a trace in what comes after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/parallel.h"
#include "formats/model_file.h"
#include "formats/safetensors.h"
#include "formats/testing/temp_directory.h"
#include "support/read_json.h"
#include "support/test_paths.h"
#include "support/workflow_runner.h"
#include "veneer/engine.h"

namespace veneer::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = "shapes-sd-tiny.safetensors";
constexpr const char* kLora = "style-night.safetensors";

TextToImage small_request() {
  TextToImage request;
  request.model = kModel;
  request.prompt = "a yellow (moon:1.2) at night";
  request.cfg = 5;
  request.steps = 3;
  request.width = 64;
  request.height = 48;
  request.seed = 7;
  return request;
}

TextToImage with_lora(TextToImage request, const std::string& name, double strength) {
  request.loras = {{name, strength}};
  return request;
}

class Determinism : public ::testing::Test {
 protected:
  EngineOptions options() const {
    EngineOptions out;
    out.model_folders = {(folder_.path() / "models").string(), demo_models().string()};
    out.output_folder = (folder_.path() / "output").string();
    out.temp_folder = (folder_.path() / "temp").string();
    out.dtype = "f32";
    return out;
  }

  void SetUp() override { fs::create_directories(folder_.path() / "models/loras"); }

  // The pixels, and nothing of the recipe that the file carries as well. Fails when the sampler did not run: then it shows nothing about the model.
  std::vector<uint8_t> draw(Engine& engine, const TextToImage& request) {
    bool sampled = false;
    JobOptions job;
    job.keep_pixels = true;
    job.on_progress = [&](const ProgressEvent& event) { sampled = sampled || event.kind == ProgressEvent::Kind::step; };
    const JobResult result = engine.text_to_image(request, job);
    EXPECT_EQ(result.images.size(), 1U);
    EXPECT_TRUE(sampled) << "the picture came out of the cache";
    return result.images.at(0).pixels.pixels;
  }

  // An adapter of the demo LoRA's text-encoder layers alone.
  std::string make_text_encoder_lora() {
    const auto whole = formats::ModelFile::open(demo_models() / "loras" / kLora);
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& entry : whole.entries()) {
      if (entry.name.starts_with("lora_te_")) tensors.emplace_back(entry.name, whole.tensor(entry.name));
    }
    EXPECT_FALSE(tensors.empty());
    formats::write_safetensors(folder_.path() / "models/loras/text-only.safetensors", tensors);
    return "text-only.safetensors";
  }

  formats::TempDirectory folder_;
};

TEST_F(Determinism, TwoEnginesGiveTheSameFile) {
  std::vector<std::string> files;
  for (int i = 0; i < 2; ++i) {
    Engine engine(options());
    files.push_back(formats::read_whole(engine.text_to_image(small_request()).images.at(0).path));
  }
  EXPECT_GT(files[0].size(), 1000U);
  EXPECT_EQ(files[0], files[1]);
}

TEST_F(Determinism, APictureIsItsOwnRecipe) {
  std::string first;
  {
    Engine engine(options());
    first = formats::read_whole(engine.text_to_image(small_request()).images.at(0).path);
  }
  Engine engine(options());
  const std::string again = formats::read_whole(engine.run_workflow(first).images.at(0).path);
  EXPECT_GT(first.size(), 1000U);
  EXPECT_EQ(first, again);
}

TEST_F(Determinism, AnAdapterThatIsGoneLeavesNoTrace) {
  Engine engine(options());
  const auto before = draw(engine, small_request());
  // So strong that rounding would show if anything had been added and taken away again.
  const auto variant = draw(engine, with_lora(small_request(), kLora, 10));
  const auto after = draw(engine, small_request());
  EXPECT_NE(before, variant);
  EXPECT_EQ(before, after);
}

TEST_F(Determinism, AVariantDoesNotDependOnWhatRanBeforeIt) {
  const TextToImage wanted = with_lora(small_request(), kLora, 0.8);
  Engine fresh(options());
  const auto alone = draw(fresh, wanted);
  Engine used(options());
  draw(used, small_request());
  draw(used, with_lora(small_request(), "style-outline.safetensors", 1));
  draw(used, with_lora(small_request(), kLora, -2));
  EXPECT_EQ(draw(used, wanted), alone);
}

TEST_F(Determinism, AnAdapterOfTheTextEncoderAloneWorksFromTheFirstRunOn) {
  const TextToImage request = with_lora(small_request(), make_text_encoder_lora(), 4);
  Engine engine(options());
  const auto variant = draw(engine, request);
  Engine second(options());
  EXPECT_EQ(draw(second, request), variant);
  EXPECT_NE(draw(second, small_request()), variant);
}

TEST_F(Determinism, ChangingOnlyTheStrengthChangesThePicture) {
  const std::string text_only = make_text_encoder_lora();
  Engine engine(options());
  for (const std::string& name : {std::string(kLora), text_only}) {
    SCOPED_TRACE(name);
    const auto full = draw(engine, with_lora(small_request(), name, 4));
    EXPECT_NE(draw(engine, with_lora(small_request(), name, 2)), full);
  }
}

TEST_F(Determinism, AStrengthOfZeroIsTheBase) {
  Engine engine(options());
  EXPECT_EQ(draw(engine, with_lora(small_request(), kLora, 0)), draw(engine, small_request()));
}

TEST_F(Determinism, ThreadCountsGiveTheSameBits) {
  std::vector<Tensor> latents;
  std::vector<std::string> pictures;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const fs::path out = folder_.path() / std::to_string(threads);
    WorkflowRunner runner(demo_models(), {out, out, out}, DType::f32);
    const WorkflowRun run = runner.run(read_json(source_folder() / "tests/goldens/pictures/lora_stack.json"));
    latents.push_back(run.latents.at(0));
    pictures.push_back(formats::read_whole(run.pictures.at(0)));
  }
  set_num_threads(0);
  for (size_t i = 1; i < latents.size(); ++i) {
    EXPECT_EQ(std::memcmp(latents[i].bytes(), latents[0].bytes(), latents[0].size_bytes()), 0);
    EXPECT_EQ(pictures[i], pictures[0]);
  }
}

TEST_F(Determinism, ASeedAbove2To53SurvivesThePicture) {
  TextToImage request = small_request();
  request.seed = 18446744073709551615ULL;
  Engine engine(options());
  const JobResult first = engine.text_to_image(request);
  EXPECT_THAT(formats::read_whole(first.images.at(0).path), ::testing::HasSubstr("18446744073709551615"));
  request.seed -= 1;
  EXPECT_NE(draw(engine, request), draw(engine, small_request()));
}

TEST_F(Determinism, AFileThatWasReplacedUnderItsNameIsReadAnew) {
  const fs::path lora = folder_.path() / "models/loras/swapped.safetensors";
  fs::copy_file(demo_models() / "loras" / kLora, lora);
  Engine engine(options());
  const TextToImage request = with_lora(small_request(), "swapped.safetensors", 1);
  const auto first = draw(engine, request);
  fs::copy_file(demo_models() / "loras/style-outline.safetensors", folder_.path() / "next");
  fs::rename(folder_.path() / "next", lora);
  EXPECT_NE(draw(engine, request), first);
}

}  // namespace
}  // namespace veneer::testing
