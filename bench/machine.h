// The rates of this machine, measured when they are first asked for and again right beside what is divided by them.
#pragma once

#include <map>
#include <string>

#include "bench/machine_rates.h"
#include "tensor/dtype.h"

namespace veneer::bench {

// For the number of threads that is set when it is made.
class Machine {
 public:
  // Each measures again, in about a second, and returns the best so far: what else runs on the machine slows both sides of a ratio.
  double matmul(DType dtype);
  double convolution(DType dtype);
  double copy();

 private:
  double best(const std::string& name, double rate);
  std::map<std::string, double> rates_;
};

}  // namespace veneer::bench
