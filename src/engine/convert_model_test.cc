#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "formats/model_file.h"
#include "formats/safetensors.h"
#include "formats/scaled_fp8.h"
#include "formats/sha256.h"
#include "formats/testing/temp_directory.h"
#include "tensor/convert.h"
#include "veneer/model_files.h"

namespace veneer {
namespace {

using formats::ModelFile;
using Entries = std::vector<std::pair<std::string, Tensor>>;

Tensor waves(const Shape& shape, DType dtype, float factor = 1) {
  Tensor out = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < shape.num_elements(); ++i) out.mutable_floats()[static_cast<size_t>(i)] = factor * std::sin(0.37F * static_cast<float>(i));
  return to_dtype(out, dtype);
}

class ConvertModel : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  static std::string sample(const char* name) { return (std::filesystem::path(VENEER_SOURCE_DIR) / "tests/files/formats" / name).string(); }

  // A checkpoint with everything that the options are about.
  std::string checkpoint() const {
    Tensor ids = Tensor::zeros({1, 4}, DType::i64);
    const Entries entries = {{"model.diffusion_model.out.weight", waves({4, 64}, DType::f32)},
                             {"model.diffusion_model.out.bias", waves({4}, DType::f32)},
                             {"first_stage_model.decoder.conv_in.weight", waves({2, 3, 3, 3}, DType::f16)},
                             {"cond_stage_model.transformer.text_model.final_layer_norm.weight", waves({6}, DType::bf16)},
                             {"cond_stage_model.transformer.text_model.embeddings.position_ids", ids},
                             {"model_ema.decay", waves({1}, DType::f32)},
                             {"alphas_cumprod", waves({5}, DType::f32)}};
    formats::write_safetensors(path("source.safetensors"), entries, {{"model_type", "sd1"}, {"author", "somebody"}, {"ss_steps", "100"}});
    return path("source.safetensors");
  }

  ConvertReport convert(const ConvertRequest& request) const { return convert_model(request); }
  static Error error_of(const ConvertRequest& request) {
    try {
      (void)convert_model(request);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "was converted";
    return {ErrorCode::internal, ""};
  }
  static std::vector<std::string> names(const std::string& file) {
    std::vector<std::string> out;
    const ModelFile opened = ModelFile::open(file);
    for (const auto& entry : opened.entries()) out.push_back(entry.name);
    std::sort(out.begin(), out.end());
    return out;
  }

  formats::TempDirectory folder_;
};

TEST_F(ConvertModel, TorchFilesBecomeSafetensorsBitForBit) {
  for (const char* source : {"torch.ckpt", "torch_old.ckpt"}) {
    const ConvertReport report = convert({.source = sample(source), .target = path("out.safetensors"), .replace = true});
    EXPECT_EQ(report.target_format, "safetensors");
    EXPECT_EQ(report.num_converted, 0u);
    const ModelComparison result = compare_models(path("out.safetensors"), sample("torch.safetensors"));
    EXPECT_EQ(result.num_equal, result.tensors.size()) << source;
    EXPECT_EQ(result.num_equal, 17u);
  }
}

TEST_F(ConvertModel, RoundTripThroughF32IsBitExact) {
  const std::string source = checkpoint();
  convert({.source = source, .target = path("wide.safetensors"), .dtype = "f32"});
  EXPECT_EQ(ModelFile::open(path("wide.safetensors")).tensor("first_stage_model.decoder.conv_in.weight").dtype(), DType::f32);
  const ModelComparison wide = compare_models(source, path("wide.safetensors"));
  EXPECT_TRUE(wide.same_tensors());
  EXPECT_EQ(wide.num_same_values, 2u);
  convert({.source = path("wide.safetensors"), .target = path("half.safetensors"), .dtype = "f16"});
  convert({.source = path("half.safetensors"), .target = path("back.safetensors"), .dtype = "f32"});
  convert({.source = path("back.safetensors"), .target = path("again.safetensors"), .dtype = "f16"});
  EXPECT_EQ(compare_models(path("half.safetensors"), path("again.safetensors")).num_equal, 7u);
}

TEST_F(ConvertModel, HeaderTellsSourceAndChecksum) {
  const std::string source = checkpoint();
  const ConvertReport report = convert({.source = source, .target = path("out.safetensors")});
  EXPECT_EQ(report.source_sha256, formats::sha256_hex_of_file(source));
  const ModelFile out = ModelFile::open(path("out.safetensors"));
  EXPECT_EQ(out.metadata().at("veneer.source_sha256"), report.source_sha256);
  EXPECT_EQ(out.metadata().at("veneer.source_file"), "source.safetensors");
  EXPECT_EQ(out.metadata().at("veneer.tensors_sha256"), report.tensors_sha256);
  const std::string bytes = formats::read_whole(path("out.safetensors"));
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(report.tensors_sha256, formats::sha256_hex(std::as_bytes(std::span(bytes).subspan(8 + header))));
}

TEST_F(ConvertModel, MetadataGetTheirCommonNames) {
  const std::string source = checkpoint();
  const ConvertReport report = convert({.source = source, .target = path("out.safetensors")});
  EXPECT_EQ(report.renamed_metadata, (std::map<std::string, std::string>{{"model_type", "architecture"}}));
  const ModelFile out = ModelFile::open(path("out.safetensors"));
  EXPECT_EQ(out.metadata().at("architecture"), "sd1");
  EXPECT_FALSE(out.metadata().contains("model_type"));
  convert({.source = path("out.safetensors"), .target = path("out.gguf")});
  const ModelFile gguf = ModelFile::open(path("out.gguf"));
  EXPECT_EQ(gguf.metadata().at("general.architecture"), "sd1");
  EXPECT_EQ(gguf.metadata().at("general.author"), "somebody");
}

TEST_F(ConvertModel, ASourceIsHeldToItsOwnChecksumAndToTheGivenOne) {
  const std::string source = checkpoint();
  convert({.source = source, .target = path("out.safetensors")});
  std::string bytes = formats::read_whole(path("out.safetensors"));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder_.write("flipped.safetensors", bytes);
  EXPECT_EQ(error_of({.source = path("flipped.safetensors"), .target = path("x.safetensors")}).code(), ErrorCode::corrupt);
  const Error other = error_of({.source = source, .target = path("x.safetensors"), .source_sha256 = std::string(64, 'a')});
  EXPECT_EQ(other.find("got"), formats::sha256_hex_of_file(source));
  EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
  EXPECT_NO_THROW(convert({.source = source, .target = path("x.safetensors"), .source_sha256 = formats::sha256_hex_of_file(source)}));
}

TEST_F(ConvertModel, GgufRoundTripsAreBitExact) {
  const std::string source = sample("quantised.gguf");
  convert({.source = source, .target = path("copy.gguf")});
  const ModelComparison copy = compare_models(source, path("copy.gguf"));
  EXPECT_EQ(copy.num_equal, copy.tensors.size());
  convert({.source = sample("small.gguf"), .target = path("small.gguf")});
  EXPECT_TRUE(compare_models(sample("small.gguf"), path("small.gguf")).same_tensors());
  convert({.source = source, .target = path("values.safetensors")});
  const ModelComparison values = compare_models(source, path("values.safetensors"));
  EXPECT_TRUE(values.same_tensors()) << "f32 holds every value of a block";
  EXPECT_EQ(values.num_same_values, 10u);
}

TEST_F(ConvertModel, MatricesAreQuantisedAndTheRestStays) {
  const std::string source = checkpoint();
  const ConvertReport report = convert({.source = source, .target = path("q8.gguf"), .quantise = "q8_0"});
  EXPECT_EQ(report.num_converted, 1u);
  const ModelFile out = ModelFile::open(path("q8.gguf"));
  EXPECT_EQ(out.tensor("model.diffusion_model.out.weight").dtype(), DType::q8_0);
  EXPECT_EQ(out.tensor("model.diffusion_model.out.bias").dtype(), DType::f32);
  EXPECT_EQ(out.tensor("first_stage_model.decoder.conv_in.weight").dtype(), DType::f16) << "rows of three are no blocks";
  const ModelComparison result = compare_models(source, path("q8.gguf"));
  EXPECT_EQ(result.num_different, 1u);
  for (const ComparedTensor& tensor : result.tensors) EXPECT_LT(tensor.largest_absolute, 0.005) << tensor.name;
}

TEST_F(ConvertModel, ScaledFp8KeepsValuesNearAndReadsBackScaled) {
  const std::string source = checkpoint();
  convert({.source = source, .target = path("fp8.safetensors"), .quantise = "fp8_scaled"});
  const ModelFile out = ModelFile::open(path("fp8.safetensors"));
  EXPECT_TRUE(out.contains("scaled_fp8"));
  const auto tensors = formats::tensors_with_scales(out);
  const Tensor& weight = tensors.find("model.diffusion_model.out.weight")->second;
  EXPECT_EQ(weight.dtype(), DType::f8_e4m3fn);
  EXPECT_NEAR(weight.scale(), 1.0F / 448, 1e-5);
  for (const ComparedTensor& tensor : compare_models(source, path("fp8.safetensors")).tensors) {
    if (tensor.largest_absolute > 0) {
      EXPECT_LT(tensor.largest_absolute, 0.04) << tensor.name;
      EXPECT_EQ(tensor.b_dtype, "f8_e4m3fn (scaled)") << tensor.name;
    }
  }
  // As it is, and as true values.
  convert({.source = path("fp8.safetensors"), .target = path("same.safetensors")});
  EXPECT_EQ(compare_models(path("fp8.safetensors"), path("same.safetensors")).num_equal, 7u);
  EXPECT_TRUE(ModelFile::open(path("same.safetensors")).contains("model.diffusion_model.out.scale_weight"));
  convert({.source = path("fp8.safetensors"), .target = path("true.safetensors"), .dtype = "f32"});
  EXPECT_TRUE(compare_models(path("fp8.safetensors"), path("true.safetensors")).same_tensors());
  EXPECT_FALSE(ModelFile::open(path("true.safetensors")).contains("model.diffusion_model.out.scale_weight"));
}

TEST_F(ConvertModel, PartsAreTakenOutUnderTheirOwnNames) {
  const std::string source = checkpoint();
  using Names = std::vector<std::string>;
  convert({.source = source, .target = path("unet.safetensors"), .extract = "unet"});
  EXPECT_EQ(names(path("unet.safetensors")), (Names{"out.bias", "out.weight"}));
  convert({.source = source, .target = path("vae.safetensors"), .extract = "vae"});
  EXPECT_EQ(names(path("vae.safetensors")), Names{"decoder.conv_in.weight"});
  convert({.source = source, .target = path("clip.safetensors"), .extract = "clip", .strip = true});
  EXPECT_EQ(names(path("clip.safetensors")), Names{"text_model.final_layer_norm.weight"});
  EXPECT_NE(error_of({.source = path("vae.safetensors"), .target = path("x"), .extract = "unet"}).find("names begin with"), "");
  const ModelComparison part = compare_models(source, path("unet.safetensors"));
  EXPECT_EQ(part.a.prefix, "model.diffusion_model.");
  EXPECT_EQ(part.num_equal, 2u);
}

TEST_F(ConvertModel, AveragesAndLeftoversAreLeftOut) {
  const std::string source = checkpoint();
  EXPECT_EQ(convert({.source = source, .target = path("pruned.safetensors"), .prune_ema = true}).num_left_out, 1u);
  EXPECT_FALSE(ModelFile::open(path("pruned.safetensors")).contains("model_ema.decay"));
  EXPECT_EQ(convert({.source = source, .target = path("bare.safetensors"), .strip = true}).num_left_out, 3u);
  const ModelFile bare = ModelFile::open(path("bare.safetensors"));
  EXPECT_EQ(bare.entries().size(), 4u);
  EXPECT_FALSE(bare.metadata().contains("ss_steps"));
  EXPECT_TRUE(bare.metadata().contains("author"));
}

TEST_F(ConvertModel, ValuesBeyondTheDTypeAreAnErrorAndNoFile) {
  const Entries entries = {{"large", Tensor::from({2}, std::vector<float>{1, 70'000})}};
  formats::write_safetensors(path("large.safetensors"), entries);
  const Error error = error_of({.source = path("large.safetensors"), .target = path("half.safetensors"), .dtype = "f16"});
  EXPECT_EQ(error.find("tensor"), "large");
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator()), 1)
      << "a temporary file is left";
  EXPECT_NO_THROW(convert({.source = path("large.safetensors"), .target = path("brain.safetensors"), .dtype = "bf16"}));
}

TEST_F(ConvertModel, RequestsThatBreakARuleNameWhatIsAllowed) {
  const std::string source = checkpoint();
  const auto allowed = [&](ConvertRequest request) {
    request.source = source;
    return std::string(error_of(request).find("allowed"));
  };
  EXPECT_EQ(allowed({.target = path("x.safetensors"), .dtype = "f64"}), "f32, f16, bf16, f8_e4m3fn, f8_e5m2");
  EXPECT_EQ(allowed({.target = path("x.gguf"), .dtype = "f8_e5m2"}), "f32, f16, bf16");
  EXPECT_EQ(allowed({.target = path("x.safetensors"), .quantise = "q8_0"}), "fp8_scaled");
  EXPECT_EQ(allowed({.target = path("x.gguf"), .quantise = "q3_0"}), "q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4_0, q3_k, q2_k, fp8_scaled");
  EXPECT_EQ(allowed({.target = path("x.safetensors"), .extract = "lora"}), "unet, vae, clip");
  folder_.write("there.safetensors", "old");
  EXPECT_EQ(error_of({.source = source, .target = path("there.safetensors")}).text(), "convert: target exists");
  EXPECT_EQ(formats::read_whole(path("there.safetensors")), "old");
}

TEST_F(ConvertModel, ATargetMayTakeThePlaceOfItsSource) {
  const std::string source = checkpoint();
  const ConvertReport report = convert({.source = source, .target = source, .dtype = "f16", .replace = true});
  EXPECT_EQ(report.num_tensors, 7u);
  EXPECT_EQ(ModelFile::open(source).tensor("model.diffusion_model.out.weight").dtype(), DType::f16);
}

TEST_F(ConvertModel, ATargetThatIsAShardOrTheIndexOfTheSourceIsRefused) {
  const std::string shard = checkpoint();
  std::string map;
  for (const std::string& name : names(shard)) map += (map.empty() ? "\"" : ",\"") + name + R"(":"source.safetensors")";
  const std::string index = folder_.write("m.safetensors.index.json", R"({"weight_map":{)" + map + "}}").string();
  for (const std::string& target : {shard, index}) {
    EXPECT_EQ(error_of({.source = index, .target = target, .replace = true}).text(), "convert: target is a part of the source");
  }
  EXPECT_EQ(names(shard).size(), 7u);
}

TEST_F(ConvertModel, AReplacedIndexTakesItsOwnShardsWithIt) {
  const std::string source = checkpoint(), index = path("m.safetensors.index.json");
  const auto shards = [&] {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (const std::string name = entry.path().filename().string(); name.find("-of-") != std::string::npos) out.push_back(name);
    }
    std::ranges::sort(out);
    return out;
  };
  using Names = std::vector<std::string>;
  convert({.source = source, .target = index, .shard_bytes = 16});
  EXPECT_EQ(shards().size(), 7u);
  // What another index names, what is called after another one, and what no index names stay; so does the source.
  folder_.write("n.safetensors.index.json", R"({"weight_map":{"a":"m-00002-of-00007.safetensors","b":"n-1-of-1.safetensors"}})");
  folder_.write("n-1-of-1.safetensors", "x");
  folder_.write("m-00009-of-00009.safetensors", "x");
  std::filesystem::copy_file(source, path("m-00003-of-00007.safetensors"), std::filesystem::copy_options::overwrite_existing);
  convert({.source = path("m-00003-of-00007.safetensors"), .target = index, .replace = true});
  EXPECT_EQ(shards(), (Names{"m-00001-of-00001.safetensors", "m-00002-of-00007.safetensors", "m-00003-of-00007.safetensors",
                             "m-00009-of-00009.safetensors", "n-1-of-1.safetensors"}));
  EXPECT_TRUE(compare_models(index, source).same_tensors());
}

TEST_F(ConvertModel, NothingGoesWithAReplacedIndexWhileAnotherOneCannotBeRead) {
  const std::string source = checkpoint(), index = path("m.safetensors.index.json");
  folder_.write("x.safetensors", "x");
  folder_.write("m.safetensors.index.json", R"({"weight_map":{"a":"x.safetensors","b":"../m-1-of-2.safetensors"}})");
  convert({.source = source, .target = index, .replace = true});
  EXPECT_TRUE(std::filesystem::exists(path("x.safetensors")));
  folder_.write("n.safetensors.index.json", "{");
  convert({.source = source, .target = index, .replace = true, .shard_bytes = 1U << 10});
  EXPECT_TRUE(std::filesystem::exists(path("m-00001-of-00001.safetensors")));
}

TEST_F(ConvertModel, ATargetThatIsNoRegularFileIsRefusedThoughItMayBeReplaced) {
  const std::string source = checkpoint();
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/null", path("device"));
  for (const char* name : {"pipe", "device"}) {
    EXPECT_EQ(error_of({.source = source, .target = path(name), .replace = true}).text(), "convert: target is not a regular file") << name;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("device")));
}

TEST_F(ConvertModel, TheWantedHashIsReadInEitherCaseAndHas64Digits) {
  const std::string source = checkpoint();
  std::string hash = formats::sha256_hex_of_file(source);
  for (const std::string& broken : {hash.substr(1), hash + "0", "g" + hash.substr(1)}) {
    EXPECT_EQ(error_of({.source = source, .target = path("x.safetensors"), .source_sha256 = broken}).text(),
              "convert: a SHA-256 has 64 digits 0-9 a-f")
        << broken;
  }
  std::ranges::transform(hash, hash.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  EXPECT_EQ(convert({.source = source, .target = path("x.safetensors"), .source_sha256 = hash}).num_tensors, 7u);
}

TEST_F(ConvertModel, OneThatIsStoppedLeavesNothing) {
  const std::string source = checkpoint();
  const auto stop = [](const std::string& stage, uint64_t, uint64_t) {
    if (stage == "writing") throw Error(ErrorCode::cancelled, "stopped");
  };
  EXPECT_THROW(convert_model({.source = source, .target = path("x.safetensors")}, stop), Error);
  const std::filesystem::directory_iterator files(folder_.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);  // the source
}

}  // namespace
}  // namespace veneer
