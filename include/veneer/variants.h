// What a variant of a model is made of, without running it: which layers of each adapter fit the model, and which do not and why.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace veneer {

// A checkpoint with adapters on it, in order.
struct VariantRequest {
  std::string model;                                  // a name in checkpoints/
  std::vector<std::pair<std::string, double>> loras;  // names in loras/ (".safetensors" may be left out) and strengths, -100 to 100
};

// A layer of an adapter file and the weight of the model that it means.
struct AdapterMatch {
  std::string layer;  // as the file names it
  std::string key;    // of the weight, as Veneer names it
  std::string kind;   // "lora", "loha", "diff", ...
};

// A layer with a known name whose tensors fit neither the weight nor, where `want` and `got` are empty, each other. It is not used.
struct AdapterMismatch {
  std::string layer;
  std::string key;
  std::string reason;     // the broken rule
  std::string want, got;  // shapes
  std::string tensors;    // the layer's, as the file names them, with their shapes
};

// An adapter file against a model: every tensor of the file is accounted for.
struct AdapterSummary {
  std::string name;  // in loras/
  std::string file;
  double strength = 1;
  std::string architecture;                           // what it was trained for, as far as one can tell: "sd1", "flux", ..., "unknown"
  std::vector<std::pair<std::string, size_t>> kinds;  // kind, layers that matched
  std::vector<AdapterMatch> matched;                  // in order of the keys
  std::vector<AdapterMismatch> mismatched;
  std::vector<AdapterMismatch> skipped;    // with patch_compat "reference": layers that leave their weight as it is, as they do there
  std::vector<AdapterMatch> overridden;    // layers that a later spelling or kind of the same weight replaced
  std::vector<std::string> missing_keys;   // weights that a known layer means and this model has not
  std::vector<std::string> unused_layers;  // of names that mean no weight of the model, sorted
  std::vector<std::string> unused_keys;    // the tensors of those layers, as the file names them, sorted
};

// One network of the variant.
struct VariantPart {
  std::string part;          // "unet" or "text_encoder"
  std::string architecture;  // "sd1.unet", "clip_l"
  // 32 hexadecimal digits of everything that decides what the part computes: the base's content, the patches with their strengths in order, the dtype
  // that it computes in. Equal on every machine, whatever the files are called.
  std::string fingerprint;
  size_t num_weights = 0;
  std::vector<std::string> patched_keys;  // sorted
};

struct VariantReport {
  std::string model;
  std::string file;
  std::vector<VariantPart> parts;        // those that the checkpoint has
  std::vector<AdapterSummary> adapters;  // as asked for
};

}  // namespace veneer
