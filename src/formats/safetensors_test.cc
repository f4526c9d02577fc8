#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "formats/atomic_file.h"
#include "formats/testing/safetensors_bytes.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr DType kAllTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2, DType::i64,    DType::i32,
                               DType::i16, DType::i8,  DType::u64, DType::u32,  DType::u16,       DType::u8,      DType::boolean};

// A tensor whose bytes count up from `first`.
Tensor counting(const Shape& shape, DType dtype, uint8_t first) {
  Tensor tensor = Tensor::empty(shape, dtype);
  for (size_t i = 0; i < tensor.size_bytes(); ++i) tensor.mutable_bytes()[i] = static_cast<std::byte>(first + i);
  return tensor;
}

std::string bytes_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes()}; }

std::vector<std::string> names_of(const ModelFile& file) {
  std::vector<std::string> names;
  for (const auto& entry : file.entries()) names.push_back(entry.name);
  return names;
}

TEST(Safetensors, ReadsWhatItWroteForEveryType) {
  const TempDirectory dir;
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const DType dtype : kAllTypes)
    tensors.emplace_back(std::string(to_string(dtype)), counting({3, 5}, dtype, static_cast<uint8_t>(tensors.size())));
  write_safetensors(dir.path() / "all.safetensors", tensors);

  const ModelFile file = ModelFile::open(dir.path() / "all.safetensors");
  ASSERT_EQ(file.entries().size(), std::size(kAllTypes));
  for (const auto& [name, want] : tensors) {
    const Tensor got = file.tensor(name);
    EXPECT_EQ(got.dtype(), want.dtype()) << name;
    EXPECT_EQ(got.shape(), want.shape()) << name;
    EXPECT_EQ(bytes_of(got), bytes_of(want)) << name;
    EXPECT_FALSE(got.writable()) << name;
  }
}

TEST(Safetensors, MakesTensorsOneByOneWhileWriting) {
  const TempDirectory dir;
  std::weak_ptr<int> alive;
  int made = 0;
  const auto source = [&](const char* name, uint8_t first) {
    return TensorSource{name, DType::u8, Shape({3}), [&, first] {
                          EXPECT_TRUE(alive.expired()) << "the tensor before is still held";
                          const auto owner = std::make_shared<int>(++made);
                          alive = owner;
                          const Tensor content = counting({3}, DType::u8, first);
                          return Tensor::view({3}, DType::u8, content.bytes(),
                                              std::make_shared<std::pair<Tensor, std::shared_ptr<int>>>(content, owner));
                        }};
  };
  const std::vector<TensorSource> sources = {source("a", 1), source("b", 7)};
  AtomicFile out = AtomicFile::create(dir.path() / "f");
  write_safetensors(out, sources, {{"k", "v"}});
  out.commit();
  EXPECT_EQ(made, 2);
  const ModelFile file = ModelFile::open(dir.path() / "f");
  EXPECT_EQ(bytes_of(file.tensor("b")), bytes_of(counting({3}, DType::u8, 7)));
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("k", "v")));
}

TEST(Safetensors, RefusesATensorThatIsAnotherThanAnnounced) {
  const TempDirectory dir;
  for (const Tensor& tensor : {counting({2}, DType::u8, 0), counting({3}, DType::i8, 0), Tensor()}) {
    AtomicFile out = AtomicFile::create(dir.path() / "f");
    const std::vector<TensorSource> sources = {{"a", DType::u8, Shape({3}), [&] { return tensor; }}};
    EXPECT_THROW(write_safetensors(out, sources), Error);
  }
}

TEST(Safetensors, KeepsTheOrderOfWriting) {
  const TempDirectory dir;
  const std::vector<std::pair<std::string, Tensor>> tensors = {
      {"z", counting({3}, DType::u8, 0)}, {"a", counting({2}, DType::f32, 9)}, {"m", counting({}, DType::f16, 4)}};
  write_safetensors(dir.path() / "f", tensors);
  EXPECT_THAT(names_of(ModelFile::open(dir.path() / "f")), ElementsAre("z", "a", "m"));
}

TEST(Safetensors, KeepsMetadataAndUnicodeNames) {
  const TempDirectory dir;
  const std::vector<std::pair<std::string, Tensor>> tensors = {{"ключ \"q\" \\ \n", counting({1}, DType::u8, 7)}};
  write_safetensors(dir.path() / "f", tensors, {{"format", "pt"}, {"автор", "名前"}});
  const ModelFile file = ModelFile::open(dir.path() / "f");
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "pt"), Pair("автор", "名前")));
  EXPECT_TRUE(file.contains("ключ \"q\" \\ \n"));
}

TEST(Safetensors, WritesDataAtAMultipleOfEightForAnyHeaderLength) {
  const TempDirectory dir;
  for (size_t length = 1; length <= 9; ++length) {
    const std::vector<std::pair<std::string, Tensor>> tensors = {{std::string(length, 'n'), counting({1}, DType::u8, 7)}};
    write_safetensors(dir.path() / "f", tensors);
    const std::string bytes = read_whole(dir.path() / "f");
    EXPECT_EQ(header_length(bytes) % 8, 0u);
    EXPECT_EQ(bytes.size(), 8 + header_length(bytes) + 1);
  }
}

TEST(Safetensors, WritesExactlyTheDocumentedBytes) {
  const TempDirectory dir;
  const std::vector<std::pair<std::string, Tensor>> tensors = {{"w", counting({2, 1}, DType::u8, 65)}};
  write_safetensors(dir.path() / "f", tensors, {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},"w":{"dtype":"U8","shape":[2,1],"data_offsets":[0,2]}})";
  EXPECT_EQ(header.size() % 8, 0u);
  EXPECT_EQ(read_whole(dir.path() / "f"), safetensors_bytes(header, "AB"));
}

TEST(Safetensors, KeepsEmptyTensorsAndScalars) {
  const TempDirectory dir;
  const std::vector<std::pair<std::string, Tensor>> tensors = {
      {"none", Tensor::empty({0, 4}, DType::f32)}, {"one", counting({}, DType::f32, 1)}, {"end", Tensor::empty({2, 0}, DType::f16)}};
  write_safetensors(dir.path() / "f", tensors);
  const ModelFile file = ModelFile::open(dir.path() / "f");
  EXPECT_EQ(file.tensor("none").shape(), Shape({0, 4}));
  EXPECT_EQ(file.tensor("one").shape(), Shape({}));
  EXPECT_TRUE(file.tensor("end").defined());
  EXPECT_EQ(file.tensor("end").size_bytes(), 0u);
}

TEST(Safetensors, WritesAFileWithoutTensors) {
  const TempDirectory dir;
  write_safetensors(dir.path() / "f", {});
  const ModelFile file = ModelFile::open(dir.path() / "f");
  EXPECT_TRUE(file.entries().empty());
}

TEST(Safetensors, WritesUnalignedSources) {
  const TempDirectory dir;
  const auto owner = std::make_shared<std::string>("?abcdefgh");
  const std::vector<std::pair<std::string, Tensor>> tensors = {{"w", Tensor::view({2}, DType::f32, owner->data() + 1, owner)}};
  write_safetensors(dir.path() / "f", tensors);
  EXPECT_EQ(bytes_of(ModelFile::open(dir.path() / "f").tensor("w")), "abcdefgh");
}

TEST(Safetensors, TensorsOutliveTheFileObjectAndItsReplacement) {
  const TempDirectory dir;
  const std::vector<std::pair<std::string, Tensor>> first = {{"w", counting({4}, DType::u8, 1)}};
  write_safetensors(dir.path() / "f", first);
  const Tensor tensor = ModelFile::open(dir.path() / "f").tensor("w");
  const std::vector<std::pair<std::string, Tensor>> second = {{"w", counting({4}, DType::u8, 100)}};
  write_safetensors(dir.path() / "f", second);
  EXPECT_EQ(bytes_of(tensor), bytes_of(first[0].second));
  EXPECT_EQ(bytes_of(ModelFile::open(dir.path() / "f").tensor("w")), bytes_of(second[0].second));
}

TEST(Safetensors, WritingLeavesNoOtherFileBehind) {
  const TempDirectory dir;
  const std::vector<std::pair<std::string, Tensor>> tensors = {{"w", counting({4}, DType::u8, 1)}};
  write_safetensors(dir.path() / "f", tensors);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(Safetensors, WriterRefusesNamesThatTheFormatCannotHold) {
  const TempDirectory dir;
  const auto refused_with = [&dir](const std::vector<std::string>& names) -> std::string {
    std::vector<std::pair<std::string, Tensor>> tensors;
    tensors.reserve(names.size());
    for (const std::string& name : names) tensors.emplace_back(name, counting({1}, DType::u8, 1));
    try {
      write_safetensors(dir.path() / "f", tensors);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);
      EXPECT_NE(error.find("file"), "");
      return error.text();
    }
    return "written";
  };
  EXPECT_EQ(refused_with({"a", "b", "a"}), "safetensors: tensor name is given twice");
  EXPECT_EQ(refused_with({"__metadata__"}), "safetensors: tensor name is reserved");
  EXPECT_EQ(refused_with({"\xff"}), "safetensors: tensor name is not UTF-8");
  EXPECT_EQ(refused_with({std::string(2000, 'x')}), "safetensors: tensor name is too long");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Safetensors, WriterRefusesATensorWithoutBytes) {
  const TempDirectory dir;
  const std::vector<std::pair<std::string, Tensor>> tensors = {{"w", Tensor()}};
  EXPECT_THROW(write_safetensors(dir.path() / "f", tensors), Error);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Safetensors, NamesFileAndTensorThatAreMissing) {
  const TempDirectory dir;
  write_safetensors(dir.path() / "f", {});
  try {
    (void)ModelFile::open(dir.path() / "f").tensor("w");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.find("tensor"), "w");
    EXPECT_EQ(error.find("file"), (dir.path() / "f").string());
  }
}

TEST(Safetensors, ReadsEntriesInTheOrderOfTheirOffsets) {
  const ModelFile file = parse_bytes(safetensors_bytes(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]},
      "a":{"shape":[3],"data_offsets":[0,3],"dtype":"I8"}}  )",
                                                       "abcd"));
  EXPECT_THAT(names_of(file), ElementsAre("a", "b"));
  EXPECT_EQ(bytes_of(file.tensor("b")), "d");
}

TEST(Safetensors, GivesDefinedTensorsOverBytesWithoutAnOwner) {
  const std::string bytes = safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x");
  const ModelFile file = ModelFile::parse(std::as_bytes(std::span(bytes)), nullptr, "memory");
  EXPECT_TRUE(file.tensor("a").defined());
  EXPECT_EQ(file.name(), "memory");
}

}  // namespace
}  // namespace veneer::formats
