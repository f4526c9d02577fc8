// Scaled fp8: weights whose values are the stored ones times a number in a companion tensor. Grammar: docs/formats/scaled-fp8.md.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "formats/model_file.h"

namespace veneer::formats {

// Whether the name is one that only accompanies a weight: a scale of a weight or of a layer's input, or a marker.
bool is_fp8_companion(std::string_view tensor);

// All tensors of the file by name, as stored but for this: an fp8 weight "X.weight" that has a companion "X.scale_weight" or "X.weight_scale" carries
// its scale (Tensor::scale), and companions are left out. Reads the scales, which are f32, bf16 or f16 of one element. Throws Error(corrupt) naming
// file and tensor for a scale that is not a finite number above 0 or for two that differ, Error(unsupported) for one with more elements and for a
// weight that is not fp8 and has a scale other than 1.
std::map<std::string, Tensor, std::less<>> tensors_with_scales(const ModelFile& file);

}  // namespace veneer::formats
