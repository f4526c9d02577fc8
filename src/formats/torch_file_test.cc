// Files that torch 1.13 wrote (tests/files/formats/make_torch_files.py), read back tensor by tensor.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/testing/model_files.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

void expect_equal(const ModelFile& file, const ModelFile& want) {
  EXPECT_EQ(tensor_names(file), tensor_names(want));
  for (const ModelFile::Entry& entry : want.entries()) {
    ASSERT_TRUE(file.contains(entry.name)) << entry.name;
    const Tensor got = file.tensor(entry.name), expected = want.tensor(entry.name);
    ASSERT_EQ(got.size_bytes(), expected.size_bytes()) << entry.name;
    EXPECT_EQ(std::memcmp(got.bytes(), expected.bytes(), got.size_bytes()), 0) << entry.name;
  }
}

class TorchFile : public ::testing::TestWithParam<const char*> {};

TEST_P(TorchFile, ReadsBackWhatTorchSaved) {
  expect_equal(ModelFile::open(model_file_path(GetParam())), ModelFile::open(model_file_path("torch.safetensors")));
}

TEST_P(TorchFile, KeepsNumbersBesideTheStateDictAsMetadata) {
  const ModelFile file = ModelFile::open(model_file_path(GetParam()));
  EXPECT_EQ(file.metadata().at("epoch"), "3");
  EXPECT_EQ(file.metadata().at("global_step"), "470000");
  EXPECT_EQ(file.metadata().at("pytorch-lightning_version"), "1.4.2");
  EXPECT_EQ(file.metadata().at("ratio"), "0.5");
}

INSTANTIATE_TEST_SUITE_P(Forms, TorchFile, ::testing::Values("torch.ckpt", "torch_protocol4.ckpt", "torch_old.ckpt"));

TEST(TorchFormat, IsToldByContentAndNotByName) {
  const TempDirectory directory;
  const auto named = [&](const char* source, const char* name) { return directory.write(name, read_whole(model_file_path(source))); };
  EXPECT_EQ(ModelFile::open(named("torch.ckpt", "a.safetensors")).format(), "torch zip");
  EXPECT_EQ(ModelFile::open(named("torch_old.ckpt", "b.gguf")).format(), "torch pickle");
  EXPECT_EQ(ModelFile::open(named("quantised.gguf", "c.ckpt")).format(), "gguf");
  EXPECT_EQ(ModelFile::open(named("torch.safetensors", "d.pt")).format(), "safetensors");
}

TEST(TorchFormat, WeightsStayWhereTheyLieInTheFile) {
  const ModelFile file = ModelFile::open(model_file_path("torch.ckpt"));
  const Tensor weight = file.tensor("model.f32.weight");
  const auto place = file.place(weight);
  ASSERT_TRUE(place);
  const std::string bytes = read_whole(place->file);
  EXPECT_EQ(std::memcmp(bytes.data() + place->begin, weight.bytes(), weight.size_bytes()), 0);
  EXPECT_FALSE(file.place(file.tensor("model.shared.transposed"))) << "a transposed tensor is copied";
}

TEST(TorchFormat, AnyNameOfTheRootFolderIsTaken) {
  const ModelFile file = ModelFile::open(model_file_path("my model.ckpt"));
  EXPECT_EQ(file.entries().size(), 2u);
}

TEST(TorchFormat, ArchivesThatPythonPackedAgainAreRead) {
  EXPECT_EQ(tensor_bytes(ModelFile::open(model_file_path("packed_again.ckpt"))), tensor_bytes(ModelFile::open(model_file_path("my model.ckpt"))));
}

TEST(TorchFormat, Float8OfTorch2IsRead) {
  expect_equal(ModelFile::open(model_file_path("torch2_fp8.pt")), ModelFile::open(model_file_path("torch2_fp8.safetensors")));
}

TEST(TorchFormat, DictsInADictGiveNamesWithDots) {
  const ModelFile file = ModelFile::open(model_file_path("embedding.pt"));
  EXPECT_EQ(tensor_names(file), std::vector<std::string>{"string_to_param.* f32 [3]"});
  EXPECT_EQ(file.metadata().at("name"), "cat");
}

Error error_of(const std::filesystem::path& path) {
  try {
    (void)ModelFile::open(path);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << path << " was accepted";
  return {ErrorCode::internal, ""};
}

TEST(TorchFormat, FunctionsThatAFileNamesAreRefusedByName) {
  const Error error = error_of(model_file_path("os_system.ckpt"));
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.find("global"), "posix.system") << error.what();  // os.system's own module
  EXPECT_EQ(error.find("opcode"), "GLOBAL");
  EXPECT_EQ(error.find("file"), model_file_path("os_system.ckpt").string());
  EXPECT_EQ(error_of(model_file_path("unknown_callable.ckpt")).find("global"), "collections.namedtuple");
}

TEST(TorchFormat, CompiledModelsAreRefused) {
  EXPECT_EQ(error_of(model_file_path("torchscript.pt")).text(), "torch: file is a compiled model (TorchScript), which holds code");
}

TEST(TorchFormat, EmptyAndCutFilesAreCalledTruncated) {
  const TempDirectory directory;
  EXPECT_NE(error_of(directory.write("empty.ckpt", "")).text().find("truncated"), std::string::npos);
  for (const char* name : {"torch.ckpt", "torch_old.ckpt", "quantised.gguf"}) {
    const std::string whole = read_whole(model_file_path(name));
    for (const size_t size : {size_t{3}, size_t{12}, whole.size() / 4, whole.size() / 2, whole.size() - 40}) {
      const Error error = error_of(directory.write("cut.ckpt", whole.substr(0, size)));
      EXPECT_NE(error.text().find("truncated"), std::string::npos) << name << " cut to " << size << ": " << error.what();
    }
  }
}

TEST(TorchFormat, OtherFilesAreRefusedWithWhatTheyLookLike) {
  const TempDirectory directory;
  EXPECT_EQ(error_of(directory.write("a.ckpt", "<!DOCTYPE html><html>")).find("looks_like"), "a web page");
  EXPECT_EQ(error_of(directory.write("b.ckpt", "version https://git-lfs.github.com/spec/v1")).find("looks_like"),
            "a pointer of Git LFS in place of the file");
}

}  // namespace
}  // namespace veneer::formats
