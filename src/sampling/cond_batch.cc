#include "sampling/cond_batch.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>

#include "sampling/nchw.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr int64_t kRamp = 8;
constexpr int64_t kMostRepeats = 4;  // contexts that had to be repeated more often are not worth a common batch
constexpr float kNothing = 1e-37F;   // total weight where no prompt covers, so that the mean is 0 there

// Lets the weights of a crop fade towards the sides that lie inside of the latent, one side after the other.
void add_ramps(Tensor& weights, const Box& box, const Box& area, const Shape& latent) {
  float* w = weights.mutable_data<float>();
  const auto scale_row = [&](int64_t y, float factor) {
    for (int64_t x = 0; x < box.width; ++x) w[y * box.width + x] *= factor;
  };
  const auto scale_column = [&](int64_t x, float factor) {
    for (int64_t y = 0; y < box.height; ++y) w[y * box.width + x] *= factor;
  };
  const auto ramp = [](int64_t size, bool low, bool high, const auto& scale) {
    const int64_t steps = std::min(kRamp, size / 4);
    for (int64_t t = 0; t < steps; ++t) {
      const float factor = static_cast<float>(1.0 / static_cast<double>(steps) * static_cast<double>(t + 1));
      if (low) scale(t, factor);
      if (high) scale(size - 1 - t, factor);
    }
  };
  ramp(box.height, area.y != 0, box.y + box.height < latent[2], scale_row);
  ramp(box.width, area.x != 0, box.x + box.width < latent[3], scale_column);
}

Tensor cropped(const Tensor& planes, const Box& box) {
  const int rank = planes.rank();
  const bool whole = planes.dim(rank - 2) == box.height && planes.dim(rank - 1) == box.width;
  return whole ? planes : crop_planes(planes, box);
}

bool both_or_none(const Tensor& a, const Tensor& b) { return a.defined() == b.defined(); }

bool same_hooks(const CondHooks* a, const CondHooks* b) { return a == b || (a != nullptr && b != nullptr && a->fingerprint() == b->fingerprint()); }

// [n, tokens, width] with the tokens repeated `times` times; attention over repeated tokens gives what it gives over one set.
Tensor repeat_tokens(const Tensor& context, int64_t times) {
  if (times == 1) return context;
  Tensor out = Tensor::empty(context.shape().with(1, context.dim(1) * times), DType::f32);
  const int64_t size = context.dim(1) * context.dim(2);
  float* target = out.mutable_data<float>();
  for (int64_t n = 0; n < context.dim(0); ++n) {
    for (int64_t t = 0; t < times; ++t) target = std::copy_n(context.data<float>() + n * size, size, target);
  }
  return out;
}

void append(Tensor& batch, const Tensor& rows) { batch = batch.defined() ? concat_batch(batch, rows) : rows; }

DenoiseBatch make_batch(std::span<const CondJob> jobs, const Tensor& x, float sigma) {
  const int64_t rows = x.dim(0);
  int64_t tokens = 1;
  for (const CondJob& job : jobs) tokens = std::lcm(tokens, job.cond->context.dim(1));
  DenoiseBatch batch;
  for (const CondJob& job : jobs) {
    append(batch.x, cropped(x, job.box));
    append(batch.context, repeat_to_batch(repeat_tokens(job.cond->context, tokens / job.cond->context.dim(1)), rows));
    if (job.cond->pooled.defined()) append(batch.pooled, repeat_to_batch(job.cond->pooled, rows));
    if (job.cond->extra_channels.defined()) append(batch.extra_channels, repeat_to_batch(cropped(job.cond->extra_channels, job.box), rows));
    batch.cond_or_uncond.push_back(job.list);
  }
  batch.sigmas.assign(static_cast<size_t>(batch.x.dim(0)), sigma);
  batch.control = jobs.front().cond->control.get();
  batch.hooks = jobs.front().cond->hooks.get();
  return batch;
}

// The sums of one list.
struct Mean {
  Tensor sum;      // [N, C, h, w]
  Tensor weights;  // [N, h, w]

  explicit Mean(const Shape& latent)
      : sum(Tensor::zeros(latent, DType::f32)), weights(Tensor::empty(Shape{latent[0], latent[2], latent[3]}, DType::f32)) {
    std::ranges::fill(weights.mutable_floats(), kNothing);
  }

  // denoised: [N, C, box.height, box.width]
  void add(const Tensor& denoised, const CondJob& job) {
    const Shape& shape = sum.shape();
    for (int64_t n = 0; n < shape[0]; ++n) {
      for (int64_t y = 0; y < job.box.height; ++y) {
        const int64_t to = (job.box.y + y) * shape[3] + job.box.x;
        const float* w = job.weights.data<float>() + (n % job.weights.dim(0) * job.box.height + y) * job.box.width;
        float* total = weights.mutable_data<float>() + n * shape[2] * shape[3] + to;
        for (int64_t x = 0; x < job.box.width; ++x) total[x] += w[x];
        for (int64_t c = 0; c < shape[1]; ++c) {
          const float* value = denoised.data<float>() + ((n * shape[1] + c) * job.box.height + y) * job.box.width;
          float* target = sum.mutable_data<float>() + (n * shape[1] + c) * shape[2] * shape[3] + to;
          for (int64_t x = 0; x < job.box.width; ++x) target[x] += value[x] * w[x];
        }
      }
    }
  }

  Tensor finish() {
    const Shape& shape = sum.shape();
    const int64_t size = shape[2] * shape[3];
    for (int64_t p = 0; p < shape[0] * shape[1]; ++p) {
      float* value = sum.mutable_data<float>() + p * size;
      const float* w = weights.data<float>() + p / shape[1] * size;
      for (int64_t i = 0; i < size; ++i) value[i] /= w[i];
    }
    return sum;
  }
};

// Takes the jobs that go into one batch with the first one out of `jobs`, the last of them first.
std::vector<CondJob> take_batch(std::vector<CondJob>& jobs) {
  const CondJob first = jobs.front();
  std::vector<CondJob> batch;
  std::vector<CondJob> rest;
  for (CondJob& job : jobs) (can_batch(job, first) ? batch : rest).push_back(std::move(job));
  jobs = std::move(rest);
  std::ranges::reverse(batch);
  return batch;
}

// What `jobs`, the latent's size, leave of a weight of 1 everywhere: [N, h, w]; undefined when that is nothing.
Tensor remaining_weight(std::span<const CondJob> jobs, const Shape& latent) {
  Tensor left = Tensor::empty(Shape{latent[0], latent[2], latent[3]}, DType::f32);
  std::ranges::fill(left.mutable_floats(), 1.0F);
  for (const CondJob& job : jobs) {
    for (int64_t n = 0; n < latent[0]; ++n) {
      for (int64_t y = 0; y < job.box.height; ++y) {
        const float* w = job.weights.data<float>() + (n % job.weights.dim(0) * job.box.height + y) * job.box.width;
        float* to = left.mutable_data<float>() + (n * latent[2] + job.box.y + y) * latent[3] + job.box.x;
        for (int64_t x = 0; x < job.box.width; ++x) to[x] -= w[x];
      }
    }
  }
  bool any = false;
  for (float& value : left.mutable_floats()) {
    value = std::max(value, 0.0F);
    any = any || value > 0;
  }
  return any ? left : Tensor();
}

// The jobs of one list, those of its default prompts last.
std::vector<CondJob> jobs_of(const std::vector<PreparedCond>& conds, int list, const Shape& latent, float sigma) {
  std::vector<CondJob> jobs;
  bool has_defaults = false;
  for (const PreparedCond& cond : conds) {
    has_defaults = has_defaults || cond.is_default;
    if (cond.is_default) continue;
    if (auto job = make_job(cond, list, latent, sigma)) jobs.push_back(std::move(*job));
  }
  if (!has_defaults) return jobs;
  const Tensor left = remaining_weight(jobs, latent);
  if (!left.defined()) return jobs;
  for (const PreparedCond& cond : conds) {
    if (!cond.is_default) continue;
    auto job = make_job(cond, list, latent, sigma);
    if (!job) continue;
    job->weights = cropped(left, job->box);
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

}  // namespace

std::optional<CondJob> make_job(const PreparedCond& cond, int list, const Shape& latent, float sigma) {
  if (sigma > static_cast<float>(cond.sigma_start) || sigma < static_cast<float>(cond.sigma_end)) return std::nullopt;
  CondJob job{&cond, list, Box{0, 0, latent[2], latent[3]}, {}};
  if (cond.area) {
    job.box = *cond.area;
    job.box.height = std::min(latent[2] - job.box.y, job.box.height);
    job.box.width = std::min(latent[3] - job.box.x, job.box.width);
  }
  if (cond.mask.defined()) {
    job.weights = crop_planes(cond.mask, job.box);
    for (float& w : job.weights.mutable_floats()) w = w * cond.mask_strength * cond.strength;
  } else {
    job.weights = Tensor::empty(Shape{1, job.box.height, job.box.width}, DType::f32);
    std::ranges::fill(job.weights.mutable_floats(), cond.strength);
    if (cond.area) add_ramps(job.weights, job.box, *cond.area, latent);
  }
  return job;
}

bool can_batch(const CondJob& a, const CondJob& b) {
  if (a.box.height != b.box.height || a.box.width != b.box.width || a.cond->control != b.cond->control) return false;
  if (!same_hooks(a.cond->hooks.get(), b.cond->hooks.get())) return false;
  const Tensor& first = a.cond->context;
  const Tensor& second = b.cond->context;
  if (first.dim(2) != second.dim(2)) return false;
  if (!both_or_none(a.cond->pooled, b.cond->pooled) || !both_or_none(a.cond->extra_channels, b.cond->extra_channels)) return false;
  if (a.cond->pooled.defined() && a.cond->pooled.dim(1) != b.cond->pooled.dim(1)) return false;
  if (a.cond->extra_channels.defined() && a.cond->extra_channels.dim(1) != b.cond->extra_channels.dim(1)) return false;
  return std::lcm(first.dim(1), second.dim(1)) / std::min(first.dim(1), second.dim(1)) <= kMostRepeats;
}

std::vector<Tensor> evaluate_conds(std::span<const std::vector<PreparedCond>* const> lists, const Tensor& x, float sigma,
                                   const std::function<Tensor(const DenoiseBatch&)>& apply) {
  std::vector<Mean> means;
  std::vector<CondJob> jobs;
  for (size_t i = 0; i < lists.size(); ++i) {
    means.emplace_back(x.shape());
    if (lists[i] == nullptr) continue;
    std::ranges::move(jobs_of(*lists[i], static_cast<int>(i), x.shape(), sigma), std::back_inserter(jobs));
  }
  while (!jobs.empty()) {
    const std::vector<CondJob> batch = take_batch(jobs);
    const DenoiseBatch input = make_batch(batch, x, sigma);
    const Tensor denoised = apply(input);
    if (denoised.shape() != input.x.shape() || denoised.dtype() != DType::f32) {
      throw Error(ErrorCode::invalid, "sample: the network returned another shape",
                  {{"want", input.x.shape().to_string()}, {"got", denoised.shape().to_string()}});
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      means[static_cast<size_t>(batch[i].list)].add(denoised.slice(static_cast<int64_t>(i) * x.dim(0), x.dim(0)), batch[i]);
    }
  }
  std::vector<Tensor> out;
  out.reserve(means.size());
  for (Mean& mean : means) out.push_back(mean.finish());
  return out;
}

}  // namespace veneer::sampling
