// Files that break one rule each: the error names the file, the rule, and the tensor where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing/safetensors_bytes.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

struct Malformed {
  std::string label;
  std::string bytes;
  std::string text;
  std::string tensor;
  ErrorCode code = ErrorCode::corrupt;
};

void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.label; }

std::string one_tensor(std::string_view dtype, std::string_view shape, std::string_view offsets, std::string_view data) {
  return safetensors_bytes(
      "{\"weight\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + std::string(shape) + ",\"data_offsets\":" + std::string(offsets) + "}}",
      data);
}

// Two tensors of bytes at the given offsets.
std::string two_tensors(int a_begin, int a_end, int b_begin, int b_end, size_t data_bytes) {
  const auto member = [](const char* name, int begin, int end) {
    const std::string b = std::to_string(begin), e = std::to_string(end);
    return std::string("\"") + name + "\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(end - begin) + "],\"data_offsets\":[" + b + "," + e + "]}";
  };
  return safetensors_bytes("{" + member("a", a_begin, a_end) + "," + member("b", b_begin, b_end) + "}", std::string(data_bytes, 'x'));
}

std::string with_length(std::string bytes, uint64_t length) { return bytes.replace(0, 8, length_field(length)); }

const std::string kGood = one_tensor("F32", "[2]", "[0,8]", "abcdefgh");

// 91 bytes: four doubles in sixteen bytes.
const std::string kTooShortForShape =
    safetensors_bytes(R"({"weight": {"dtype": "F64", "shape": [4], "data_offsets": [0, 16]}})", std::string(16, '\0'));

std::vector<Malformed> broken_frames() {
  return {
      {"empty file", "", "safetensors: file is shorter than its length field", ""},
      {"cut inside the length", kGood.substr(0, 5), "safetensors: file is shorter than its length field", ""},
      {"cut inside the header", kGood.substr(0, 30), "safetensors: header leaves the file", ""},
      {"cut inside the data", kGood.substr(0, kGood.size() - 3), "safetensors: range leaves the file", "weight"},
      {"cut before the data", kGood.substr(0, kGood.size() - 8), "safetensors: range leaves the file", "weight"},
      {"header length zero", with_length(kGood, 0), "safetensors: header does not begin with '{'", ""},
      {"header length 2^63", with_length(kGood, uint64_t{1} << 63), "safetensors: header leaves the file", ""},
      {"header length 2^64 - 1", with_length(kGood, UINT64_MAX), "safetensors: header leaves the file", ""},
      {"header length 2^64 - 8", with_length(kGood, UINT64_MAX - 7), "safetensors: header leaves the file", ""},
      {"header one byte too long", with_length(kGood, kGood.size() - 7), "safetensors: header leaves the file", ""},
      {"header one byte too short", with_length(kGood, header_length(kGood) - 1), "safetensors: header is not valid JSON", ""},
  };
}

std::vector<Malformed> broken_ranges() {
  return {
      {"offsets do not fit the shape", kTooShortForShape, "safetensors: range does not fit shape and dtype", "weight"},
      {"overlap", two_tensors(0, 4, 3, 8, 8), "safetensors: ranges overlap", "b"},
      {"the same range twice", two_tensors(0, 4, 0, 4, 4), "safetensors: ranges overlap", "b"},
      {"hole", two_tensors(0, 4, 5, 8, 8), "safetensors: hole before the range", "b"},
      {"hole at the start", one_tensor("U8", "[3]", "[1,4]", "xxxx"), "safetensors: hole before the range", "weight"},
      {"trailing bytes", kGood + "x", "safetensors: bytes after the last tensor", ""},
      {"data without tensors", safetensors_bytes("{}", "x"), "safetensors: bytes after the last tensor", ""},
      {"range ends before it begins", one_tensor("F32", "[2]", "[8,0]", "abcdefgh"), "safetensors: range ends before it begins", "weight"},
      {"end at 2^63 - 1", one_tensor("U8", "[9223372036854775807]", "[0,9223372036854775807]", "x"), "safetensors: range leaves the file", "weight"},
      {"element count overflows", one_tensor("U8", "[4294967296,4294967296]", "[0,0]", ""), "safetensors: size of the shape overflows", "weight"},
      {"byte count overflows", one_tensor("F64", "[2305843009213693952]", "[0,0]", ""), "safetensors: size of the shape overflows", "weight"},
      {"overflow hidden by an empty extent", one_tensor("U8", "[0,4294967296,4294967296]", "[0,0]", ""), "safetensors: size of the shape overflows",
       "weight"},
      {"negative extent", one_tensor("F32", "[-2]", "[0,8]", "abcdefgh"), "safetensors: negative extent", "weight"},
      {"minus zero", one_tensor("F32", "[-0]", "[0,0]", ""), "safetensors: negative extent", "weight"},
      {"two negative extents", one_tensor("F32", "[-1,-2]", "[0,8]", "abcdefgh"), "safetensors: negative extent", "weight"},
      {"negative offset", one_tensor("F32", "[2]", "[-8,0]", "abcdefgh"), "safetensors: negative offset", "weight"},
      {"float extent", one_tensor("F32", "[2.0]", "[0,8]", "abcdefgh"), "safetensors: number is not a 64-bit integer", "weight"},
      {"exponent", one_tensor("F32", "[2]", "[0,8e0]", "abcdefgh"), "safetensors: number is not a 64-bit integer", "weight"},
      {"extent 2^63", one_tensor("F32", "[9223372036854775808]", "[0,8]", "abcdefgh"), "safetensors: number is too large", "weight"},
      {"offset 2^63", one_tensor("F32", "[2]", "[0,9223372036854775808]", "abcdefgh"), "safetensors: number is too large", "weight"},
      {"huge extent", one_tensor("F32", "[123456789012345678901234567890]", "[0,8]", "abcdefgh"), "safetensors: number is not a 64-bit integer",
       "weight"},
      {"infinite number", one_tensor("F32", "[1e999]", "[0,8]", "abcdefgh"), "safetensors: header is not valid JSON", "weight"},
      {"nine dimensions", one_tensor("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]", "abcdefgh"), "safetensors: shape has too many dimensions", "weight"},
      {"one offset", one_tensor("F32", "[2]", "[8]", "abcdefgh"), "safetensors: data_offsets are not two numbers", "weight"},
      {"three offsets", one_tensor("F32", "[2]", "[0,8,8]", "abcdefgh"), "safetensors: data_offsets are not two numbers", "weight"},
  };
}

std::vector<Malformed> broken_json() {
  const std::string tensor = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const auto header = [](const std::string& text) { return safetensors_bytes(text, ""); };
  const std::string wrong_type = "safetensors: header has a value of the wrong type";
  return {
      {"not an object", header("[]"), "safetensors: header does not begin with '{'", ""},
      {"byte order mark", header("\xEF\xBB\xBF{}"), "safetensors: header does not begin with '{'", ""},
      {"space first", header(" {}"), "safetensors: header does not begin with '{'", ""},
      {"two values", header("{}{}"), "safetensors: header is not valid JSON", ""},
      {"zero byte after the object", header(std::string("{}\0}", 4)), "safetensors: header is not valid JSON", ""},
      {"comment", header("{/**/}"), "safetensors: header is not valid JSON", ""},
      {"ill-formed UTF-8", header("{\"a\xC3\":" + tensor + "}"), "safetensors: header is not valid JSON", ""},
      {"lone surrogate", header("{\"\\ud800\":" + tensor + "}"), "safetensors: header is not valid JSON", ""},
      {"unknown dtype", one_tensor("F33", "[0]", "[0,0]", ""), "safetensors: unknown dtype", "weight"},
      {"dtype in lower case", one_tensor("f32", "[0]", "[0,0]", ""), "safetensors: unknown dtype", "weight"},
      {"foreign dtype", one_tensor("C64", "[0]", "[0,0]", ""), "safetensors: dtype is not supported", "weight", ErrorCode::unsupported},
      {"duplicate tensor", header("{\"a\":" + tensor + ",\"a\":" + tensor + "}"), "safetensors: duplicate key", "a"},
      {"duplicate by escape", header("{\"a\":" + tensor + ",\"\\u0061\":" + tensor + "}"), "safetensors: duplicate key", "a"},
      {"duplicate field", header(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"), "safetensors: duplicate key", "a"},
      {"duplicate metadata", header(R"({"__metadata__":{"k":"1","k":"2"}})"), "safetensors: duplicate key in metadata", ""},
      {"metadata twice", header(R"({"__metadata__":{},"__metadata__":{}})"), "safetensors: duplicate key", "__metadata__"},
      {"metadata number", header(R"({"__metadata__":{"k":1}})"), wrong_type, ""},
      {"metadata object", header(R"({"__metadata__":{"k":{}}})"), wrong_type, ""},
      {"metadata list", header(R"({"__metadata__":{"k":[]}})"), wrong_type, ""},
      {"metadata is a string", header(R"({"__metadata__":"k"})"), wrong_type, ""},
      {"tensor is a number", header(R"({"a":1})"), wrong_type, "a"},
      {"tensor is null", header(R"({"a":null})"), wrong_type, "a"},
      {"dtype is a number", header(R"({"a":{"dtype":1}})"), wrong_type, "a"},
      {"dtype is a list", header(R"({"a":{"dtype":[]}})"), wrong_type, "a"},
      {"shape is a number", header(R"({"a":{"shape":1}})"), wrong_type, "a"},
      {"shape holds a string", header(R"({"a":{"shape":["1"]}})"), wrong_type, "a"},
      {"shape holds true", header(R"({"a":{"shape":[true]}})"), wrong_type, "a"},
      {"shape nested", header(R"({"a":{"shape":[[1]]}})"), wrong_type, "a"},
      {"object in a tensor", header(R"({"a":{"shape":{}}})"), wrong_type, "a"},
      {"unknown field", header(R"({"a":{"color":"red"}})"), "safetensors: unknown field", "a"},
      {"no dtype", header(R"({"a":{"shape":[0],"data_offsets":[0,0]}})"), "safetensors: field is missing", "a"},
      {"no shape", header(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"), "safetensors: field is missing", "a"},
      {"no offsets", header(R"({"a":{"dtype":"U8","shape":[0]}})"), "safetensors: field is missing", "a"},
      {"fields of an earlier tensor do not count", header("{\"a\":" + tensor + ",\"b\":{}}"), "safetensors: field is missing", "b"},
      {"name too long", header("{\"" + std::string(1025, 'n') + "\":" + tensor + "}"), "safetensors: tensor name is too long", ""},
      {"deep nesting", header("{\"a\":" + std::string(100'000, '[')), wrong_type, "a"},
  };
}

class SafetensorsMalformed : public ::testing::TestWithParam<Malformed> {};

void expect_refused(const Malformed& malformed) {
  try {
    (void)parse_bytes(malformed.bytes);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), malformed.code) << error.what();
    EXPECT_EQ(error.text(), malformed.text) << error.what();
    EXPECT_EQ(error.find("file"), "test.safetensors");
    EXPECT_EQ(error.find("tensor"), malformed.tensor) << error.what();
    EXPECT_LT(std::string_view(error.what()).size(), 1000u);
  }
}

TEST_P(SafetensorsMalformed, IsRefusedByNameAndRule) { expect_refused(GetParam()); }

// Not one of the parameters: these are made whenever the program starts, and it starts once for each test.
TEST(SafetensorsMalformedFrame, AHeaderOverTheLimitIsRefused) {
  expect_refused({"", safetensors_bytes("{}" + std::string(100'000'000, ' '), ""), "safetensors: header is too long", ""});
}

std::string test_name(const ::testing::TestParamInfo<Malformed>& info) {
  std::string name;
  for (const char c : info.param.label) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Frames, SafetensorsMalformed, ::testing::ValuesIn(broken_frames()), test_name);
INSTANTIATE_TEST_SUITE_P(Ranges, SafetensorsMalformed, ::testing::ValuesIn(broken_ranges()), test_name);
INSTANTIATE_TEST_SUITE_P(Json, SafetensorsMalformed, ::testing::ValuesIn(broken_json()), test_name);

TEST(SafetensorsMalformedFile, ErrorsFromDiskNameThePathAndWhatWasWanted) {
  ASSERT_EQ(kTooShortForShape.size(), 91u);
  const TempDirectory dir;
  const std::filesystem::path path = dir.write("w.safetensors", kTooShortForShape);
  try {
    (void)ModelFile::open(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), path.string());
    EXPECT_EQ(error.find("tensor"), "weight");
    EXPECT_EQ(error.find("want"), "32");
    EXPECT_EQ(error.find("got"), "16");
  }
}

TEST(SafetensorsMalformedFile, EmptyFileIsRefusedFromDisk) {
  const TempDirectory dir;
  EXPECT_THROW((void)ModelFile::open(dir.write("w.safetensors", "")), Error);
}

// Each key costs many times its two bytes here: a header of 96 MB of them took 2.7 GB.
TEST(SafetensorsMalformedFile, MetadataOfTooManyKeysIsRefused) {
  std::string header = R"({"__metadata__":{)";
  for (int i = 0; i <= 65'536; ++i) header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
  try {
    (void)parse_bytes(safetensors_bytes(header + "}}", ""));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "safetensors: too many keys in metadata");
    EXPECT_EQ(error.find("most"), "65536");
  }
}

// A small file with everything the format has.
std::string rich_file() {
  const std::string header = R"({"__metadata__":{"format":"pt","title":"d\u00e9mo"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},"c":{"dtype":"I16","shape":[0,3],"data_offsets":[9,9]}} )";
  return safetensors_bytes(header, "abcdefghi");
}

// Reads everything there is to read, so that a bad range would be touched.
size_t touch_all(const ModelFile& file) {
  size_t sum = 0;
  for (const auto& entry : file.entries()) {
    for (const std::byte b : file.tensor(entry.name).byte_span()) sum += std::to_integer<size_t>(b);
  }
  return sum;
}

TEST(SafetensorsMalformedFile, CutAtEveryByteIsRefused) {
  const std::string bytes = rich_file();
  ASSERT_NO_THROW(touch_all(parse_bytes(bytes)));
  for (size_t length = 0; length < bytes.size(); ++length) EXPECT_THROW((void)parse_bytes(bytes.substr(0, length)), Error) << length;
}

TEST(SafetensorsMalformedFile, EveryFlippedBitIsAnErrorOrAReadableFileWithTheSameDataBytes) {
  const std::string bytes = rich_file();
  const size_t sum = touch_all(parse_bytes(bytes));
  size_t refused = 0;
  const size_t header_end = 8 + header_length(bytes);
  for (size_t bit = 0; bit < 8 * header_end; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    try {
      // What is accepted still tiles the data exactly, so every byte is seen once.
      EXPECT_EQ(touch_all(parse_bytes(flipped)), sum) << bit;
    } catch (const Error& error) {
      EXPECT_NE(error.find("file"), "") << bit;
      ++refused;
    }
  }
  EXPECT_GT(refused, 6 * header_end);
}

}  // namespace
}  // namespace veneer::formats
