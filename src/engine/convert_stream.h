// The bytes of a tensor in another dtype, a piece at a time.
#pragma once

#include <functional>
#include <string>

#include "formats/model_file.h"
#include "formats/write_model.h"

namespace veneer::engine {

// Hands the values of `tensor` as `dtype` to `put`, row-major. Lets go of the file's pages behind itself. Throws Error(invalid) naming `name` when a
// finite value has none in the dtype, and Error(unsupported) for conversions that there are not.
void stream_as(const formats::ModelFile& file, const Tensor& tensor, DType dtype, const std::string& name, const formats::PutBytes& put);

// The largest magnitude of the finite values.
float largest_magnitude(const formats::ModelFile& file, const Tensor& tensor);

// The values divided by `scale`, as f8_e4m3fn.
void stream_scaled_fp8(const formats::ModelFile& file, const Tensor& tensor, float scale, const std::string& name, const formats::PutBytes& put);

}  // namespace veneer::engine
