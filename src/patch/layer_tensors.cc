#include "patch/layer_tensors.h"

#include <cmath>

#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {

LayerTensors::LayerTensors(const AdapterTensors& file, std::string_view prefix, PatchCompat compat, std::set<std::string, std::less<>>& used)
    : file_(file), prefix_(prefix), compat_(compat), used_(used) {}

Tensor LayerTensors::find(std::string_view suffix) const {
  const auto it = file_.find(std::string(prefix_).append(suffix));
  return it == file_.end() ? Tensor() : it->second;
}

Tensor LayerTensors::take(std::string_view suffix) {
  const auto it = file_.find(std::string(prefix_).append(suffix));
  if (it == file_.end()) return {};
  used_.insert(it->first);
  return it->second;
}

Tensor LayerTensors::require(std::string_view suffix) {
  Tensor tensor = take(suffix);
  if (!tensor.defined()) throw Error(ErrorCode::corrupt, "adapter: a factor is missing", {{"tensor", std::string(prefix_).append(suffix)}});
  return tensor;
}

std::optional<double> LayerTensors::alpha() {
  const Tensor tensor = take(".alpha");
  if (!tensor.defined()) return std::nullopt;
  const Error bad(ErrorCode::corrupt, "adapter: alpha is not one finite number",
                  {{"name", std::string(prefix_).append(".alpha")}, {"shape", tensor.shape().to_string()}});
  if (tensor.num_elements() != 1) throw bad;
  const double value = to_dtype(tensor, DType::f64).data<double>()[0];
  if (!std::isfinite(value)) throw bad;
  return value;
}

void check_factors(bool fits, std::string_view what, const Tensor& a, const Tensor& b) {
  if (fits) return;
  throw Error(ErrorCode::corrupt, "adapter: factors do not fit each other",
              {{"kind", std::string(what)}, {"a", a.shape().to_string()}, {"b", b.shape().to_string()}});
}

}  // namespace veneer::patch
