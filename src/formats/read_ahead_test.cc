#include "formats/read_ahead.h"

#include <gtest/gtest.h>

#include <string>

#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

std::string all_of(const std::filesystem::path& path, uint64_t begin) {
  ReadAhead reader(open_for_reading(path), path, begin);
  std::string out;
  for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  EXPECT_TRUE(reader.next().empty()) << "bytes behind the end";
  return out;
}

TEST(ReadAhead, GivesEveryByteOnceInOrder) {
  const TempDirectory folder;
  std::string content(7'000'003, 'x');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761U >> 13);
  for (const size_t size : {size_t{0}, size_t{5}, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{3} << 20, content.size()}) {
    const auto path = folder.write("file", content.substr(0, size));
    EXPECT_TRUE(all_of(path, 0) == content.substr(0, size)) << size;
    if (size >= 5) {
      EXPECT_TRUE(all_of(path, 5) == content.substr(5, size - 5)) << size;
    }
    EXPECT_EQ(all_of(path, size + 1), "");
  }
}

TEST(ReadAhead, MayBeLeftBeforeTheEnd) {
  const TempDirectory folder;
  const auto path = folder.write("file", std::string(9'000'000, 'x'));
  ReadAhead reader(open_for_reading(path), path, 0);
  EXPECT_EQ(reader.next().size(), size_t{1} << 20);
}

TEST(ReadAhead, AFailureToReadIsAnErrorThatNamesTheFile) {
  const TempDirectory folder;
  for (const size_t size : {size_t{10}, size_t{5} << 20}) {
    const auto path = folder.write("file", std::string(size, 'x'));
    OpenFile file = open_for_reading(path);
    file.fd.reset();
    ReadAhead reader(std::move(file), path, 0);
    try {
      (void)reader.next();
      FAIL() << "was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.find("file"), path.string());
    }
  }
}

}  // namespace
}  // namespace veneer::formats
