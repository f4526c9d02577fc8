// What nodes need from the engine, registered in the graph's environment by the composition root.
#pragma once

#include <filesystem>
#include <memory>

#include "compute/context.h"
#include "tensor/tensor.h"

namespace veneer::nodes {

// Folders of pictures. Immutable.
struct ImageFolders {
  std::filesystem::path input, output, temp;
};

// How networks compute. Immutable; `scratch` may be used from any thread.
struct ComputeSettings {
  // Of the diffusion network and the VAE. The text encoder computes in f32.
  DType dtype = DType::f32;
  Allocator& scratch;
  std::shared_ptr<compute::OperationCache> operations = compute::make_operation_cache();

  compute::Context context() const { return {.scratch = scratch, .dtype = dtype, .operations = operations}; }
  compute::Context f32_context() const { return {.scratch = scratch, .dtype = DType::f32, .operations = operations}; }
};

}  // namespace veneer::nodes
