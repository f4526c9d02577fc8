// Reading an adapter file: from tensors with trainers' names to patch values on a model's weights, with an account of what was used and what not.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "patch/key_map.h"
#include "patch/layer_tensors.h"
#include "patch/patch_compat.h"
#include "patch/patch_value.h"
#include "veneer/error.h"

namespace veneer::patch {

// The shape of a model's weight, nullopt when the model (or models: UNet and text encoder together) has none under that key.
using ShapeOf = std::function<std::optional<Shape>(std::string_view key)>;

struct AdapterReport {
  struct Match {
    std::string layer;  // as the file names it
    std::string key;    // the model's weight
    std::string_view kind;
  };
  struct Mismatch {
    std::string layer;
    std::string key;
    std::string reason;     // the broken rule
    std::string want, got;  // shapes, empty when the tensors do not even fit each other
    std::string tensors;    // the layer's, as the file names them, with their shapes
  };

  // Weight key -> value, to be handed to add_patches.
  std::map<std::string, PatchValuePtr, std::less<>> patches;
  std::vector<Match> matched;        // one per patch that changes its weight, in order of the keys
  std::vector<Mismatch> mismatched;  // layers with a known name that fit neither the model nor each other; not in `patches`
  std::vector<Match> overridden;     // layers that a later spelling or kind of the same weight replaced
  // PatchCompat::reference only: layers that are in `patches`, as in the reference, and leave their weight as it is, since they do not fit it or the
  // reference fails on their kind.
  std::vector<Mismatch> left_out;
  // File tensors that nothing used, sorted, and the layers that they belong to (the pair up/down of an unknown layer counts once).
  std::vector<std::string> unused_keys;
  std::vector<std::string> unused_layers;
  // Keys that the map gives but the model has not.
  std::vector<std::string> missing_keys;
  std::string architecture;  // guess_architecture of the file
};

struct AdapterOptions {
  // PatchCompat::reference: a missing factor is an Error(corrupt) with "tensor", alpha and dora_scale always count as used, and what does not fit is
  // in `left_out`, not in `mismatched`.
  PatchCompat compat = PatchCompat::standard;
  // For the origins of the values.
  std::string file_name = {};
};

// All tensors of a file.
AdapterTensors adapter_tensors(const formats::ModelFile& file);

// Reads what `map` names, in PatchCompat::standard also behind PEFT's "base_model.model.". `shape_of` may be empty: then shapes are checked when a
// weight is calculated. A layer that would grow a weight beyond most_grown_elements counts as mismatched. Reads no tensor's content but alphas and
// reshape_weights.
AdapterReport load_adapter(const AdapterTensors& tensors, const KeyMap& map, const ShapeOf& shape_of, const AdapterOptions& options = {});
// The same for a file, whose metadata helps to tell its architecture and which gives the origins their name.
AdapterReport load_adapter(const formats::ModelFile& file, const KeyMap& map, const ShapeOf& shape_of, const AdapterOptions& options = {});

// "sd1", "sd2", "sdxl", "sd3", "flux", ... or "unknown": the model that an adapter was trained for, from metadata that trainers write and from names
// and extents of its layers.
std::string guess_architecture(const AdapterTensors& tensors, const std::map<std::string, std::string>& metadata);

// Before every name in files that PEFT saves of a whole model.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";

// For a file of which nothing matched: Error(invalid) naming the file, its architecture and the model's, and of the first layer its tensors and the
// rule that it breaks.
Error no_match_error(std::string_view file_name, const AdapterReport& report, std::string_view model_architecture);

}  // namespace veneer::patch
