#include "nodes/options/hyper_tile.h"

#include <algorithm>
#include <optional>
#include <string>

#include "veneer/error.h"

namespace veneer::nodes {
namespace {

constexpr int64_t kSmallestTile = 32;  // pixels
constexpr int64_t kPixelsPerToken = 8;

// Copies rows of a tile's width between the two orders of tokens.
Tensor reorder(const Tensor& tokens, const Tiles& tiles, bool split) {
  const int64_t channels = tokens.dim(2);
  const int64_t count = tiles.rows * tiles.columns;
  const int64_t tile_height = tiles.height / tiles.rows;
  const int64_t tile_width = tiles.width / tiles.columns;
  const int64_t pictures = split ? tokens.dim(0) : tokens.dim(0) / count;
  const int64_t size = tiles.height * tiles.width;
  if (tokens.dim(1) != (split ? size : size / count) || pictures * (split ? 1 : count) != tokens.dim(0)) {
    throw Error(ErrorCode::invalid, "tiles: tokens do not fit",
                {{"got", tokens.shape().to_string()}, {"tokens", std::to_string(size)}, {"tiles", std::to_string(count)}});
  }
  Tensor out = Tensor::empty(split ? Shape{pictures * count, size / count, channels} : Shape{pictures, size, channels}, DType::f32);
  for (int64_t n = 0; n < pictures; ++n) {
    for (int64_t y = 0; y < tiles.height; ++y) {
      for (int64_t column = 0; column < tiles.columns; ++column) {
        const int64_t whole = (n * size + y * tiles.width + column * tile_width) * channels;
        const int64_t tile = (n * tiles.rows + y / tile_height) * tiles.columns + column;
        const int64_t tiled = ((tile * tile_height + y % tile_height) * tile_width) * channels;
        std::copy_n(tokens.data<float>() + (split ? whole : tiled), tile_width * channels, out.mutable_data<float>() + (split ? tiled : whole));
      }
    }
  }
  return out;
}

// How often the latent was halved in both directions until it has that many tokens, if at most max_depth times.
std::optional<int64_t> depth_of(int64_t tokens, const variant::PatchCall& call, int64_t max_depth) {
  for (int64_t depth = 0; depth <= max_depth; ++depth) {
    if (tokens << (2 * depth) == call.latent_height * call.latent_width) return depth;
  }
  return std::nullopt;
}

std::optional<Tiles> choose_tiles(const HyperTileSettings& settings, patch::PatchCompat compat, int64_t tokens, const variant::PatchCall& call) {
  const std::optional<int64_t> depth = depth_of(tokens, call, settings.max_depth);
  if (!depth || tokens != call.height * call.width) return std::nullopt;
  sampling::TorchGenerator fixed(0);  // outside of a run
  sampling::TorchGenerator& random = call.run != nullptr ? call.run->random : fixed;
  const int64_t smallest = std::max(kSmallestTile, settings.tile_size) / kPixelsPerToken * (settings.scale_depth ? int64_t{1} << *depth : 1);
  Tiles tiles{call.height, call.width, 1, 1};
  if (compat == patch::PatchCompat::reference) std::swap(tiles.height, tiles.width);
  tiles.rows = choose_parts(tiles.height, smallest, settings.swap_size, random);
  tiles.columns = choose_parts(tiles.width, smallest, settings.swap_size, random);
  return tiles.rows * tiles.columns > 1 ? std::optional(tiles) : std::nullopt;
}

}  // namespace

Tensor split_into_tiles(const Tensor& tokens, const Tiles& tiles) { return reorder(tokens, tiles, true); }
Tensor join_tiles(const Tensor& tokens, const Tiles& tiles) { return reorder(tokens, tiles, false); }

int64_t choose_parts(int64_t extent, int64_t min_size, int64_t options, sampling::TorchGenerator& random) {
  std::vector<int64_t> parts;
  for (int64_t size = std::min(min_size, extent); size <= extent && static_cast<int64_t>(parts.size()) < options; ++size) {
    if (extent % size == 0) parts.push_back(extent / size);
  }
  return parts.size() < 2 ? parts.front() : parts[random.random_u32() % (parts.size() - 1)];
}

AttentionPatchPair hyper_tile(const HyperTileSettings& settings, patch::PatchCompat compat) {
  const Fingerprint id = FingerprintBuilder()
                             .add("HyperTile")
                             .add(settings.tile_size)
                             .add(settings.swap_size)
                             .add(settings.max_depth)
                             .add(settings.scale_depth)
                             .add(compat)
                             .finish();
  const auto before = [=](const variant::AttentionInputs& inputs, const variant::PatchCall& call) -> variant::AttentionInputs {
    const std::optional<Tiles> tiles = choose_tiles(settings, compat, inputs.n.dim(1), call);
    if (!tiles) {
      remember_undo(call, {});
      return inputs;
    }
    remember_undo(call, [tiles = *tiles](const Tensor& tokens) { return join_tiles(tokens, tiles); });
    const Tensor tokens = split_into_tiles(inputs.n, *tiles);
    return {tokens, tokens, tokens};
  };
  return {{id, before}, {id, undo_last}};
}

}  // namespace veneer::nodes
