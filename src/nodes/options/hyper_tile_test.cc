#include "nodes/options/hyper_tile.h"

#include <gmock/gmock.h>

#include "compute/test_data.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

using ::testing::ElementsAre;

std::vector<float> values(const Tensor& tensor) { return {tensor.floats().begin(), tensor.floats().end()}; }

Tensor numbered(const Shape& shape) {
  Tensor out = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < out.num_elements(); ++i) out.mutable_data<float>()[i] = static_cast<float>(i);
  return out;
}

// A place in a network over a latent of that size where the resolution is that of the latent, halved `depth` times.
variant::PatchCall call_at(int64_t latent_height, int64_t latent_width, int depth = 0) {
  variant::PatchCall call;
  call.latent_height = latent_height;
  call.latent_width = latent_width;
  call.height = latent_height >> depth;
  call.width = latent_width >> depth;
  return call;
}

TEST(HyperTile, SplitsAPictureIntoTilesRowByRow) {
  // 0  1  2  3
  // 4  5  6  7
  const Tensor tiled = split_into_tiles(numbered(Shape{1, 8, 1}), {2, 4, 1, 2});
  EXPECT_EQ(tiled.shape(), Shape({2, 4, 1}));
  EXPECT_THAT(values(tiled), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  EXPECT_THAT(values(split_into_tiles(numbered(Shape{1, 8, 1}), {2, 4, 2, 1})), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(HyperTile, JoiningUndoesSplitting) {
  const Tensor tokens = compute::random_tensor(Shape{2, 6 * 4, 3}, 1);
  const Tiles tiles{6, 4, 3, 2};
  const Tensor split = split_into_tiles(tokens, tiles);
  EXPECT_EQ(split.shape(), Shape({12, 4, 3}));
  EXPECT_EQ(values(join_tiles(split, tiles)), values(tokens));
}

TEST(HyperTile, RefusesTokensThatAreNotThoseOfTheTiles) {
  EXPECT_THROW(split_into_tiles(numbered(Shape{1, 9, 1}), {2, 4, 1, 2}), Error);
  EXPECT_THROW(join_tiles(numbered(Shape{3, 4, 1}), {2, 4, 1, 2}), Error);
  EXPECT_THROW(join_tiles(numbered(Shape{2, 5, 1}), {2, 4, 1, 2}), Error);
}

TEST(HyperTile, ChoosesTheSmallestPartsThatAreLargeEnough) {
  sampling::TorchGenerator random(1);
  EXPECT_EQ(choose_parts(64, 32, 1, random), 2);                             // parts of 32
  EXPECT_EQ(choose_parts(96, 32, 1, random), 3);                             // of 32
  EXPECT_EQ(choose_parts(90, 32, 1, random), 2);                             // of 45
  EXPECT_EQ(choose_parts(16, 32, 1, random), 1);                             // already smaller
  EXPECT_EQ(choose_parts(61, 32, 9, random), 1);                             // a prime number
  EXPECT_EQ(random.random_u32(), sampling::TorchGenerator(1).random_u32());  // no choice, no draw
}

TEST(HyperTile, DrawsAmongTheSizesLessTheLast) {
  sampling::TorchGenerator random(3);
  sampling::TorchGenerator expected(3);
  EXPECT_EQ(choose_parts(64, 8, 2, random), 8);  // one of one
  expected.random_u32();
  const std::array<int64_t, 3> parts = {8, 4, 2};  // of 8, 16 and 32, not of 64
  for (int i = 0; i < 20; ++i) EXPECT_EQ(choose_parts(64, 8, 4, random), parts[expected.random_u32() % 3]);
}

TEST(HyperTile, AttendsWithinTilesAndPutsThemBackTogether) {
  const auto [before, after] = hyper_tile({.tile_size = 32, .swap_size = 1}, patch::PatchCompat::standard);
  const variant::PatchCall call = call_at(8, 8);
  const Tensor n = compute::random_tensor(Shape{2, 64, 3}, 5);
  const variant::AttentionInputs inputs = before.fn({n, n, n}, call);
  EXPECT_EQ(values(inputs.n), values(split_into_tiles(n, {8, 8, 2, 2})));
  EXPECT_EQ(values(inputs.context), values(inputs.n));
  EXPECT_EQ(values(inputs.value), values(inputs.n));
  EXPECT_EQ(values(after.fn(inputs.n, call)), values(n));
  EXPECT_EQ(values(after.fn(n, call)), values(n));  // nothing left to undo
}

TEST(HyperTile, KeepsToTheDepthsItIsSetFor) {
  const HyperTileSettings settings{.tile_size = 32, .swap_size = 1, .max_depth = 1};
  const auto tiles_at = [&](const HyperTileSettings& with, int depth) {
    const variant::PatchCall call = call_at(32, 32, depth);
    const Tensor n = numbered(Shape{1, call.height * call.width, 1});
    return hyper_tile(with, patch::PatchCompat::standard).before.fn({n, n, n}, call).n.dim(0);
  };
  EXPECT_EQ(tiles_at(settings, 0), 64);
  EXPECT_EQ(tiles_at(settings, 1), 16);
  EXPECT_EQ(tiles_at(settings, 2), 1);
  HyperTileSettings scaled = settings;
  scaled.scale_depth = true;
  EXPECT_EQ(tiles_at(scaled, 0), 64);
  EXPECT_EQ(tiles_at(scaled, 1), 4);
}

TEST(HyperTile, TilesAWidePictureAsItIsUnlessItIsToFollowTheReference) {
  const Tensor n = compute::random_tensor(Shape{1, 8 * 16, 2}, 5);
  const variant::PatchCall call = call_at(8, 16);
  const HyperTileSettings settings{.tile_size = 64, .swap_size = 1};
  EXPECT_EQ(values(hyper_tile(settings, patch::PatchCompat::standard).before.fn({n, n, n}, call).n), values(split_into_tiles(n, {8, 16, 1, 2})));
  EXPECT_EQ(values(hyper_tile(settings, patch::PatchCompat::reference).before.fn({n, n, n}, call).n), values(split_into_tiles(n, {16, 8, 2, 1})));
}

TEST(HyperTile, TakesChancesFromTheRun) {
  const auto pair = hyper_tile({.tile_size = 32, .swap_size = 5}, patch::PatchCompat::standard);
  const Tensor n = numbered(Shape{1, 64 * 64, 1});
  const auto tiles_of_a_run = [&](uint64_t seed) {
    sampling::RunState run{sampling::TorchGenerator(seed), {}};
    std::vector<int64_t> out;
    for (int i = 0; i < 12; ++i) {
      variant::PatchCall call = call_at(64, 64);
      call.run = &run;
      out.push_back(pair.before.fn({n, n, n}, call).n.dim(0));
    }
    return out;
  };
  EXPECT_EQ(tiles_of_a_run(1), tiles_of_a_run(1));
  EXPECT_NE(tiles_of_a_run(1), tiles_of_a_run(2));
}

TEST(HyperTile, IsAnotherForEveryParameter) {
  const HyperTileSettings settings;
  const auto id = [](const HyperTileSettings& s) { return hyper_tile(s, patch::PatchCompat::standard).before.id; };
  EXPECT_EQ(id(settings), id(settings));
  EXPECT_NE(id({.tile_size = 128}), id(settings));
  EXPECT_NE(id({.swap_size = 3}), id(settings));
  EXPECT_NE(id({.max_depth = 1}), id(settings));
  EXPECT_NE(id({.scale_depth = true}), id(settings));
  EXPECT_NE(hyper_tile(settings, patch::PatchCompat::reference).before.id, id(settings));
}

}  // namespace
}  // namespace veneer::nodes
