#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/safetensors.h"
#include "formats/testing/temp_directory.h"
#include "veneer/model_files.h"

namespace veneer {
namespace {

using Entries = std::vector<std::pair<std::string, Tensor>>;

class CompareModels : public ::testing::Test {
 protected:
  std::string write(const char* name, const Entries& entries, const std::map<std::string, std::string>& metadata = {}) const {
    formats::write_safetensors(folder_.path() / name, entries, metadata);
    return (folder_.path() / name).string();
  }
  static Tensor row(std::vector<float> values) { return Tensor::from({static_cast<int64_t>(values.size())}, values); }
  static const ComparedTensor& find(const ModelComparison& result, std::string_view name) {
    for (const ComparedTensor& tensor : result.tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no such tensor");
  }
  formats::TempDirectory folder_;
};

TEST_F(CompareModels, CountsWhatIsMissingExtraAndDifferent) {
  const std::string a = write("a", {{"same", row({1, 2})}, {"other", row({1, 100})}, {"mine", row({1})}, {"shape", row({1, 2, 3})}});
  const std::string b = write("b", {{"same", row({1, 2})}, {"other", row({1, 99})}, {"yours", row({1})}, {"shape", row({1, 2})}});
  const ModelComparison result = compare_models(a, b);
  EXPECT_EQ(result.num_equal, 1u);
  EXPECT_EQ(result.num_different, 2u);
  EXPECT_EQ(result.num_missing, 1u);
  EXPECT_EQ(result.num_extra, 1u);
  EXPECT_FALSE(result.same_tensors());
  const ComparedTensor& other = find(result, "other");
  EXPECT_EQ(other.largest_absolute, 1.0);
  EXPECT_EQ(other.largest_relative, 0.01);
  EXPECT_NE(other.a_sha256, other.b_sha256);
  EXPECT_FALSE(find(result, "shape").same_shape());
  EXPECT_EQ(find(result, "mine").b_dtype, "");
}

TEST_F(CompareModels, NumbersThatAreNoneDifferInfinitely) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::string a = write("a", {{"t", row({infinity, nan, 1})}, {"u", row({1})}, {"v", row({-infinity})}});
  const std::string b = write("b", {{"t", row({infinity, nan, 2})}, {"u", row({nan})}, {"v", row({infinity})}});
  const ModelComparison result = compare_models(a, b);
  EXPECT_EQ(find(result, "t").largest_absolute, 1.0);
  EXPECT_TRUE(std::isinf(find(result, "u").largest_absolute));
  EXPECT_TRUE(std::isinf(find(result, "v").largest_relative));
}

TEST_F(CompareModels, WholeNumbersAreComparedInFull) {
  Tensor one = Tensor::zeros({1}, DType::i64), two = Tensor::zeros({1}, DType::i64);
  one.mutable_data<int64_t>()[0] = (int64_t{1} << 40) + 1;
  two.mutable_data<int64_t>()[0] = int64_t{1} << 40;
  EXPECT_EQ(compare_models(write("a", {{"n", one}}), write("b", {{"n", two}})).tensors[0].largest_absolute, 1.0);
}

TEST_F(CompareModels, FieldsMeetUnderTheirCommonNames) {
  const Entries entries = {{"t", row({1})}};
  const std::string a = write("a", entries, {{"model_type", "sd1"}, {"modelspec.author", "x"}, {"only", "1"}, {"format_version", "2"}});
  const std::string b = write("b", entries, {{"modelspec.architecture", "sd1"}, {"author", "y"}, {"modelspec.sai_model_spec", "2"}});
  const ModelComparison result = compare_models(a, b);
  ASSERT_EQ(result.fields.size(), 4u);
  EXPECT_EQ(result.fields[0].field, "architecture");
  EXPECT_TRUE(result.fields[0].equal());
  EXPECT_EQ(result.fields[0].a_key, "model_type");
  EXPECT_FALSE(result.fields[1].equal());
  EXPECT_EQ(result.fields[1].field, "author");
  EXPECT_TRUE(result.fields[2].equal()) << result.fields[2].field;
  EXPECT_EQ(result.fields[3].b_key, "");
  EXPECT_TRUE(result.same_tensors());
  EXPECT_FALSE(result.same_fields());
}

TEST_F(CompareModels, ErrorsNameTheFile) {
  const std::string a = write("a", {{"t", row({1})}});
  try {
    (void)compare_models(a, folder_.write("broken.ckpt", "").string());
    FAIL() << "was compared";
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), (folder_.path() / "broken.ckpt").string());
  }
}

}  // namespace
}  // namespace veneer
