#include "compute/ops.h"
#include "models/unet/run.h"

namespace veneer::models {

Tensor run_res_block(UnetRun& run, const ResBlockIds& ids, Tensor x) {
  constexpr float kEps = 1e-5F;
  const variant::NormWeights in_norm = run.view.norm(ids.in_norm);
  Tensor h = compute::group_norm(run.context, x, in_norm.weight, in_norm.bias, kNormGroups, kEps, true);
  h = run.view.conv2d(run.context, ids.in_conv, h);
  const Tensor emb = run.view.linear(run.context, ids.emb, run.emb);
  const variant::NormWeights out_norm = run.view.norm(ids.out_norm);
  h = compute::group_norm(run.context, h, out_norm.weight, out_norm.bias, kNormGroups, kEps, true, &emb);
  if (ids.skip) x = run.view.conv2d(run.context, *ids.skip, x);
  return run.view.conv2d(run.context, ids.out_conv, h, {.residual = &x});
}

}  // namespace veneer::models
