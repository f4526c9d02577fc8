// The tensors of one layer in an adapter file: those whose names begin with one prefix. Patch kinds read their parts from it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "patch/patch_compat.h"
#include "tensor/tensor.h"

namespace veneer::patch {

// File name -> tensor.
using AdapterTensors = std::map<std::string, Tensor, std::less<>>;

class LayerTensors {
 public:
  // All references have to outlive the object. Names that are taken go into `used`.
  LayerTensors(const AdapterTensors& file, std::string_view prefix, PatchCompat compat, std::set<std::string, std::less<>>& used);

  // The tensor PREFIX + suffix, undefined when there is none.
  Tensor find(std::string_view suffix) const;
  // The same, and notes it as used.
  Tensor take(std::string_view suffix);
  // The same for a factor without which the layer is incomplete. Throws Error(corrupt) with "tensor" when there is none.
  Tensor require(std::string_view suffix);

  // PREFIX.alpha, nullopt when there is none. Throws Error(corrupt) unless it is one finite number.
  std::optional<double> alpha();
  // PREFIX.dora_scale, undefined when there is none.
  Tensor dora_scale() { return take(".dora_scale"); }
  PatchCompat compat() const { return compat_; }

 private:
  const AdapterTensors& file_;
  std::string_view prefix_;
  PatchCompat compat_;
  std::set<std::string, std::less<>>& used_;
};

// Throws Error(corrupt) naming `what` unless `fits`.
void check_factors(bool fits, std::string_view what, const Tensor& a, const Tensor& b);

}  // namespace veneer::patch
