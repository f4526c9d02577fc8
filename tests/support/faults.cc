#include "support/faults.h"

#include <stdexcept>

#include "veneer/error.h"

namespace veneer::testing {
namespace {

using variant::CallbackPoint;

class FaultyValue final : public patch::PatchValue {
 public:
  FaultyValue(patch::PatchValuePtr inner, std::shared_ptr<FaultPlan> plan)
      : PatchValue(inner->kind(), {}, {}, inner->fingerprint()), inner_(std::move(inner)), plan_(std::move(plan)) {}

  void check(const Shape& weight) const override {
    plan_->point(Fault::read);
    inner_->check(weight);
  }
  Shape shape_after(const Shape& weight) const override { return inner_->shape_after(weight); }
  void apply(patch::WorkingWeight& weight, double strength, const patch::WeightFunction* function) const override {
    plan_->point(Fault::read);
    inner_->apply(weight, strength, function);
    plan_->point(Fault::read);
  }
  std::unique_ptr<patch::RowAdder> row_adder(const Shape& weight, double strength) const override {
    auto adder = inner_->row_adder(weight, strength);
    return adder ? std::make_unique<FaultyAdder>(std::move(adder), plan_) : nullptr;
  }
  std::optional<patch::LowRank> low_rank() const override {
    plan_->point(Fault::read);
    return inner_->low_rank();
  }

 private:
  class FaultyAdder final : public patch::RowAdder {
   public:
    FaultyAdder(std::unique_ptr<patch::RowAdder> inner, std::shared_ptr<FaultPlan> plan) : inner_(std::move(inner)), plan_(std::move(plan)) {}
    void add(const Tile& tile, const TileValues& values) const override {
      plan_->point(Fault::read);
      inner_->add(tile, values);
    }

   private:
    std::unique_ptr<patch::RowAdder> inner_;
    std::shared_ptr<FaultPlan> plan_;
  };

  patch::PatchValuePtr inner_;
  std::shared_ptr<FaultPlan> plan_;
};

void add_network_patches(variant::ModelPatcher& patcher, const std::shared_ptr<FaultPlan>& plan) {
  patcher.set_model_attn1_output_patch({{1, 1}, [plan](const Tensor& n, const variant::PatchCall&) {
                                          plan->point(Fault::cancellation);
                                          return n;
                                        }});
  patcher.set_model_input_block_patch({{1, 2}, [plan](const Tensor& h, const variant::PatchCall&) {
                                         plan->point(Fault::hook);
                                         return h;
                                       }});
  patcher.set_model_sampler_post_cfg_function({{1, 3}, [plan](const sampling::GuidanceCall&, const Tensor& denoised) {
                                                 plan->point(Fault::hook);
                                                 return denoised;
                                               }});
}

}  // namespace

void FaultPlan::arm(int64_t at) {
  calls_ = 0;
  at_ = at;
  failed_ = false;
  token_ = CancelToken();
}

void FaultPlan::point(Fault fault) {
  if (calls_.fetch_add(1) != at_) return;
  failed_ = true;
  switch (fault) {
    case Fault::allocation: throw Error(ErrorCode::no_memory, "test: out of memory");
    case Fault::read: throw Error(ErrorCode::corrupt, "test: the file cannot be read");
    case Fault::cancellation: token_.cancel(); return;
    case Fault::hook: throw std::logic_error("test: a hook failed");
  }
}

Patches faulty(const Patches& patches, const std::shared_ptr<FaultPlan>& plan) {
  Patches out;
  for (const auto& [key, value] : patches) out[key] = std::make_shared<FaultyValue>(value, plan);
  return out;
}

void add_faulty_extensions(variant::ModelPatcher& patcher, const std::shared_ptr<FaultPlan>& plan) {
  const variant::Callback point = [plan](variant::ModelPatcher&, variant::ModelPatcher*) { plan->point(Fault::hook); };
  for (const CallbackPoint at : {CallbackPoint::on_load, CallbackPoint::on_detach, CallbackPoint::on_inject_model, CallbackPoint::on_eject_model}) {
    patcher.add_callback(at, "faults", point);
  }
  patcher.set_injections("faults", {{point, point}, {point, point}});
  patcher.add_wrapper("faults", {{1, 4}, [plan](const sampling::Network& next, const sampling::NetworkInput& input) {
                                   plan->point(Fault::hook);
                                   Tensor out = next(input);
                                   plan->point(Fault::hook);
                                   return out;
                                 }});
  patcher.add_weight_wrapper("diffusion_model.out.2.weight", {{1, 5}, [plan](const Tensor& weight) {
                                                                plan->point(Fault::hook);
                                                                return weight;
                                                              }});
  add_network_patches(patcher, plan);
}

}  // namespace veneer::testing
