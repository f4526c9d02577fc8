#include "bench/machine.h"

#include <algorithm>

namespace veneer::bench {

double Machine::best(const std::string& name, double rate) {
  double& known = rates_[name];
  known = std::max(known, rate);
  return known;
}

double Machine::matmul(DType dtype) { return best("matmul " + std::string(to_string(dtype)), matmul_rate(dtype, 4096, 1)); }

double Machine::convolution(DType dtype) { return best("convolution " + std::string(to_string(dtype)), convolution_rate(dtype, 4)); }

double Machine::copy() { return best("copy", copy_bandwidth(3)); }

}  // namespace veneer::bench
