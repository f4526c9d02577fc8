// In which dtype networks compute, and how their weights are kept.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "compute/product_rates.h"
#include "compute/weights.h"
#include "tensor/dtype.h"

namespace veneer::engine {

struct Precision {
  DType compute = DType::f32;
  compute::WeightStorage weights = compute::WeightStorage::computed;
  bool operator==(const Precision&) const = default;
};

// Measures, or says what was measured before.
using RatesOfMachine = std::function<compute::ProductRates()>;

// `name` as in EngineOptions::dtype. Where f32 is not asked for by name, its weights are kept in 16 bits where they lie so in their file. Throws
// Error(invalid) for an unknown name, Error(unsupported) for bf16 where the CPU cannot.
Precision choose_precision(const std::string& name, const RatesOfMachine& rates);

// The rates of this machine from `folder`/machine.json; measured and written there where it has none for this CPU, these libraries and this cap on
// instruction sets. A folder that is "" or cannot be written to costs a measurement each time, and a damaged file is replaced.
compute::ProductRates rates_of_machine(const std::filesystem::path& folder);

}  // namespace veneer::engine
