#include "server/public_text.h"

#include <gtest/gtest.h>

namespace veneer::server {
namespace {

TEST(PublicText, NamesAreRelativeToTheKindOfTheirFolder) {
  const PublicText text({{"output", "/srv/out"}, {"models", "/srv/out/models/"}, {"input", "/srv/in"}, {"temp", ""}});
  EXPECT_EQ(text("file=/srv/out/a/b.png"), "file=output/a/b.png");
  EXPECT_EQ(text("(file: /srv/out/models/x) '/srv/in'"), "(file: models/x) 'input'");
  EXPECT_EQ(text("/srv/outer/a /srv/in"), "/srv/outer/a input");
  EXPECT_EQ(text("nothing here"), "nothing here");
}

TEST(PublicText, RelativeFoldersAreKnownAsTheyWereGiven) {
  const PublicText text({{"input", "in"}, {"models/loras", "../srv/models/loras"}, {"output", "."}});
  EXPECT_EQ(text("file=in/a.png in the way"), "file=input/a.png in the way");
  EXPECT_EQ(text("file=../srv/models/loras/x.safetensors"), "file=models/loras/x.safetensors");
  EXPECT_EQ(text("file=" + (std::filesystem::absolute("in") / "a.png").string()), "file=input/a.png");
}

TEST(PublicText, EscapesOfJsonAreKnown) {
  const PublicText text(std::vector<std::pair<std::string, std::filesystem::path>>{{"output", "/srv/\xC3\xBC"}});
  EXPECT_EQ(text("/srv/\\u00fc/a"), "output/a");
  EXPECT_EQ(text("/srv/\xC3\xBC/a"), "output/a");
}

}  // namespace
}  // namespace veneer::server
