#include "server/loaded_models_log.h"

#include <gtest/gtest.h>

namespace veneer::server {
namespace {

TEST(LoadedModelsLog, FaultsAndFilesThatTookANameAreSaidOnce) {
  std::vector<std::string> lines;
  LogBook log([&](LogLevel, std::string_view text, const graph::Json& data) { lines.push_back(std::string(text) + " " + data.value("fault", "")); });
  LoadedModelsLog models(log);
  engine::LoadedModel model{.type = "loras", .name = "a", .family = "", .sha256 = "1", .version = "v1", .size_bytes = 1, .fault = ""};
  const auto look = [&] {
    lines.clear();
    models.look({model});
    models.look({model});
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(look(), Lines{});
  model.fault = "gone";
  EXPECT_EQ(look(), Lines{"the file of a loaded model does not serve gone"});
  model.fault = "";
  EXPECT_EQ(look(), Lines{"the file under a loaded name serves "});
  model.version = "v2";
  EXPECT_EQ(look(), Lines{"the file under a loaded name serves "});
  model.serves = false;
  model.fault = "lost";
  EXPECT_EQ(look(), Lines{"a loaded model serves no more lost"});
  models.look({});
  EXPECT_EQ(look().size(), 1U) << "a name that was loaded anew, and has a fault";
}

}  // namespace
}  // namespace veneer::server
