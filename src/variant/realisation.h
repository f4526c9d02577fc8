// How one module of a variant is made ready to run: which resident serves it, and which side branches run beside it.
#pragma once

#include <memory>
#include <vector>

#include "base/fingerprint.h"
#include "patch/patch_value.h"
#include "residency/resident.h"
#include "variant/description.h"

namespace veneer::variant {

// s * B (A x) beside a module.
struct BranchRealisation {
  Fingerprint key;  // of A and B in the compute dtype; the strength is no part of it
  patch::PatchValuePtr value;
  float scale = 1;  // strength times alpha / rank
  size_t bytes = 0;
};

struct Realisation {
  enum class Weight : uint8_t { patched, without_hooks, base };
  Fingerprint key;                  // of the module's own resident
  Weight weight = Weight::patched;  // which patches are in its weight
  bool patched = false;             // the resident holds patched weights
  bool keep = true;                 // false: made for each use, whatever the memory budget has left
  size_t bytes = 0;                 // expected size of the resident
  std::vector<BranchRealisation> branches;
};

// By the runtime's apply mode. Computes no weight.
Realisation realise(const Description& description, ModuleId module);

// The module's resident: ResidentLinear, ResidentConv2d, ResidentNorm or ResidentTable.
std::shared_ptr<const residency::Resident> build_module(const Description& description, ModuleId module, const Realisation& how);
// ResidentBranch.
std::shared_ptr<const residency::Resident> build_branch(const Description& description, ModuleId module, const BranchRealisation& branch);

}  // namespace veneer::variant
