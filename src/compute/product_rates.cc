#include "compute/product_rates.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>

#include "base/parallel.h"
#include "compute/cpu.h"
#include "compute/weights.h"

namespace veneer::compute {
namespace {

constexpr int64_t kSide = 384;

class Product {
 public:
  explicit Product(DType dtype)
      : context_{.dtype = dtype},
        x_(Tensor::zeros({kSide, kSide}, dtype)),
        layer_(Linear::create(Tensor::zeros({kSide, kSide}, dtype), Tensor(), dtype)) {
    (void)layer_->forward(context_, x_);  // compiles and packs
  }
  void run() {
    const auto start = std::chrono::steady_clock::now();
    (void)layer_->forward(context_, x_);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best_ = std::min(best_, spent.count());
  }
  double rate() const { return 2e-9 * static_cast<double>(kSide * kSide * kSide) / best_; }

 private:
  Context context_;
  Tensor x_;
  std::shared_ptr<const Linear> layer_;
  double best_ = 1e9;
};

}  // namespace

ProductRates measure_product_rates() {
  constexpr int kRounds = 5;
  const auto measure = [] {
    set_num_threads(1);
    Product f32(DType::f32);
    const std::unique_ptr<Product> bf16 = bf16_supported() ? std::make_unique<Product>(DType::bf16) : nullptr;
    for (int round = 0; round < kRounds; ++round) {
      f32.run();
      if (bf16) bf16->run();
    }
    return ProductRates{f32.rate(), bf16 ? bf16->rate() : 0};
  };
  // The number of threads is set for the thread that sets it.
  return std::async(std::launch::async, measure).get();
}

}  // namespace veneer::compute
