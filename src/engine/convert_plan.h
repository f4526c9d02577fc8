// From a request to the tensors that a conversion writes.
#pragma once

#include <vector>

#include "formats/model_file.h"
#include "formats/write_model.h"
#include "veneer/model_files.h"

namespace veneer::engine {

struct ConversionPlan {
  formats::TargetFormat format = formats::TargetFormat::safetensors;
  std::vector<formats::TensorStream> tensors;  // large elements first, so that each lies aligned; they refer to the file
  size_t num_converted = 0;                    // in another dtype than the source's
  size_t num_left_out = 0;
};

// Checks the request and chooses a dtype for each tensor. Reads of the tensors only what scales need. Throws Error as convert_model says.
ConversionPlan plan_conversion(const ConvertRequest& request, const formats::ModelFile& file);

}  // namespace veneer::engine
