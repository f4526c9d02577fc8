// HyperTile: self-attention within tiles of the picture, where the whole picture would cost too much.
//
// Source: the method of tfernd's HyperTile (2023) as workflows know it: tiles of at least a given size, chosen anew at each layer among a few sizes.
#pragma once

#include <cstdint>

#include "nodes/options/undo_tokens.h"
#include "patch/patch_compat.h"
#include "sampling/rng.h"

namespace veneer::nodes {

struct HyperTileSettings {
  int64_t tile_size = 256;   // pixels
  int64_t swap_size = 2;     // the choice is among this many sizes, less the last when there are two or more
  int64_t max_depth = 0;     // how many halvings of the resolution still get tiles
  bool scale_depth = false;  // tiles of the same number of tokens at each depth, instead of the same part of the picture
};

// rows * columns tiles over tokens [N, height * width, C].
struct Tiles {
  int64_t height = 0, width = 0, rows = 1, columns = 1;
};

// [N, h * w, C] -> [N * rows * columns, h * w / (rows * columns), C], tiles of one picture next to each other; and back.
Tensor split_into_tiles(const Tensor& tokens, const Tiles& tiles);
Tensor join_tiles(const Tensor& tokens, const Tiles& tiles);

// How many parts `extent` is cut into: such that a part is one of the `options` smallest divisors of extent that are at least `min_size` (extent
// itself when that is smaller). With two or more to choose from it draws once, and never takes the largest part.
int64_t choose_parts(int64_t extent, int64_t min_size, int64_t options, sampling::TorchGenerator& random);

// Random choices come from the run (RunState::random). PatchCompat::reference takes height for width and width for height, as the reference
// implementation does: the same for square pictures.
AttentionPatchPair hyper_tile(const HyperTileSettings& settings, patch::PatchCompat compat);

}  // namespace veneer::nodes
