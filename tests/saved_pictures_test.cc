// What SaveImage and PreviewImage write and report, against recordings of the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "formats/image_file.h"
#include "formats/testing/temp_directory.h"
#include "support/read_json.h"
#include "support/test_paths.h"
#include "support/workflow_runner.h"

namespace veneer::testing {
namespace {

namespace fs = std::filesystem;
using graph::Json;

// File names with what no two runs share (dates, random letters) made equal.
std::string steady(const std::string& text) {
  std::string out = std::regex_replace(text, std::regex(R"(d_\d{4}-\d\d-\d\d_\d{6}_)"), "d_DATE_");
  return std::regex_replace(out, std::regex(R"(ComfyUI_temp_[a-z]{5}_)"), "ComfyUI_temp_RANDOM_");
}

void compare_file(const fs::path& got, const Json& want) {
  SCOPED_TRACE(got.string());
  const formats::ImageBytes image = formats::read_image(got);
  EXPECT_EQ(Json::array({image.width, image.height}), want.at("size"));
  EXPECT_EQ(image.channels, want.at("mode") == "RGB" ? 3 : 4);
  EXPECT_EQ(Json::array({image.pixels.at(0), image.pixels.at(1), image.pixels.at(2)}), want.at("first_pixel"));
  Json chunks = Json::array();
  for (const auto& [key, text] : image.text) chunks.push_back(Json::array({key, text}));
  EXPECT_EQ(chunks.dump(1), want.at("text_chunks_in_order").dump(1));
}

size_t count_files(const fs::path& folder) {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) count += entry.is_regular_file() ? 1 : 0;
  return count;
}

TEST(SavedPictures, AreNamedAndFilledAsTheReferenceDoes) {
  VENEER_NEEDS_SHARED("api/recordings/save_image_files.json");
  const formats::TempDirectory folder;
  WorkflowRunner runner(demo_models(), {folder.path() / "input", folder.path() / "output", folder.path() / "temp"}, DType::f32);
  size_t files = 0;
  for (const Json& recorded : read_json(shared_folder() / "api/recordings/save_image_files.json")) {
    SCOPED_TRACE(recorded.at("name").get<std::string>());
    const Json pnginfo = recorded.at("extra_data").is_object() ? recorded.at("extra_data").value("extra_pnginfo", Json()) : Json();
    const WorkflowRun run = runner.run(recorded.at("prompt"), pnginfo);
    const bool succeeds = recorded.at("status") == "success";
    EXPECT_EQ(run.result.status, succeeds ? graph::ExecutionStatus::success : graph::ExecutionStatus::error);
    if (succeeds) {
      Json outputs = Json::object();
      for (const graph::UiRecord& record : run.result.records) outputs[record.node_id] = record.ui;
      EXPECT_EQ(steady(outputs.dump(1)), steady(recorded.at("outputs").dump(1)));
      ASSERT_EQ(run.pictures.size(), recorded.at("files").size());
      for (size_t i = 0; i < run.pictures.size(); ++i) compare_file(run.pictures[i], recorded.at("files").at(i).at("png"));
    }
    files += run.pictures.size();
    EXPECT_EQ(count_files(folder.path()), files) << "a file is missing or more than the record says";
  }
}

}  // namespace
}  // namespace veneer::testing
