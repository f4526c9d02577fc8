// What nodes need from the engine, registered in the graph's environment by the composition root.
#pragma once

#include <filesystem>
#include <memory>

#include "base/profile.h"
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
  std::shared_ptr<Profile> profile = nullptr;  // null: nobody wants to know where the time goes

  compute::Context context() const { return context_in(dtype); }
  compute::Context f32_context() const { return context_in(DType::f32); }
  compute::Context context_in(DType in) const { return {.scratch = scratch, .dtype = in, .operations = operations, .profile = profile.get()}; }
};

}  // namespace veneer::nodes
