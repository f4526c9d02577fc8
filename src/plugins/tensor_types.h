// Tensors as plug-ins see them, and the values behind them.
#pragma once

#include <optional>
#include <string>

#include "graph/value.h"
#include "tensor/tensor.h"
#include "veneer/plugin_abi.h"

namespace veneer::plugins {

// The tensor in an IMAGE, a MASK, another value that is one, or a LATENT (its samples); nullopt for other values.
std::optional<Tensor> tensor_in(const graph::Value& value);

// A value of the type over the tensor. Throws Error(invalid) where IMAGE, MASK or LATENT and shape or dtype do not fit.
graph::Value tensor_value(const std::string& type, Tensor tensor);

// nullopt for numbers that are none of VeneerDtype, and for VENEER_OTHER_DTYPE.
std::optional<DType> dtype_of(int32_t dtype);
int32_t abi_dtype(DType dtype);

// Throws Error(invalid) with `output`, `want` and `got` when the value does not go with the type: "*" takes everything, a list of types one of them;
// numbers, texts, IMAGE, MASK and LATENT are looked at closely, objects by the name of their type. None and blockers always pass.
void check_type(const graph::Value& value, const std::string& type, const std::string& output);

}  // namespace veneer::plugins
