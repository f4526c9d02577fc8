// Nodes on pictures: lazy mixing, averaging what was not declared, an output node with an output.
#include "nodes.h"
#include "pictures.h"

namespace testing_pack {
namespace {

bool all_are(const vp::TensorView& mask, float level) {
  return std::ranges::all_of(mask.floats(), [&](float value) { return value == level; });
}

void what_mix_needs(vp::Call& call) {
  const vp::TensorView mask = call.input("mask").tensor();
  if (!call.has("image1") && !all_are(mask, 1)) call.need("image1");
  if (!call.has("image2") && !all_are(mask, 0)) call.need("image2");
}

// image1 where the mask is 0, image2 where it is 1.
void mix(vp::Call& call) {
  const vp::TensorView mask = call.input("mask").tensor();
  if (all_are(mask, 0)) return call.output(call.input("image1"));
  if (all_are(mask, 1)) return call.output(call.input("image2"));
  const vp::TensorView first = call.input("image1").tensor();
  const vp::TensorView second = call.input("image2").tensor();
  require_equal_shapes(first, second);
  const bool one_mask = mask.dim(0) == 1;
  if ((!one_mask && mask.dim(0) != first.dim(0)) || mask.dim(1) != first.dim(1) || mask.dim(2) != first.dim(2)) {
    throw std::runtime_error("the mask has another size than the pictures");
  }
  vp::NewTensor mixed = call.tensor("IMAGE", shape_of(first));
  for (size_t i = 0; i < mixed.floats.size(); ++i) {
    const float share = mask.floats()[i / 3 % mask.floats().size()];
    mixed.floats[i] = first.floats()[i] * (1 - share) + second.floats()[i] * share;
  }
  call.output(mixed);
}

// The mean of input1, input2, ... up to the first that is not there.
void average(vp::Call& call) {
  vp::NewTensor sum = changed(call, call.input("input1").tensor(), [](float value) { return value; });
  int count = 1;
  while (call.has("input" + std::to_string(count + 1))) {
    const vp::TensorView next = call.input("input" + std::to_string(++count)).tensor();
    require_equal_shapes(sum.value.tensor(), next);
    for (size_t i = 0; i < sum.floats.size(); ++i) sum.floats[i] += next.floats()[i];
  }
  for (float& value : sum.floats) value /= static_cast<float>(count);
  call.output(sum);
}

}  // namespace

void add_images(vp::Pack& pack) {
  pack.add(vp::Node("TestLazyMixImages")
               .display_name("Lazy Mix Images")
               .category("Testing/Nodes")
               .inputs({vp::image("image1").lazy(), vp::image("image2").lazy(), vp::socket("mask", "MASK")})
               .output("IMAGE")
               .check_lazy(what_mix_needs)
               .run(mix));
  pack.add(vp::Node("TestVariadicAverage")
               .display_name("Variadic Average")
               .category("Testing/Nodes")
               .input(vp::image("input1"))
               .accepts_any_input()
               .output("IMAGE")
               .run(average));
  pack.add(vp::Node("TestOutputNodeWithSocketOutput")
               .display_name("Output Node With Socket Output")
               .category("_for_testing")
               .inputs({vp::image("image"), vp::number("value", 1).range(0.0, 10.0)})
               .output("IMAGE")
               .output_node()
               .run([](vp::Call& call) {
                 const auto factor = static_cast<float>(call.input("value").number());
                 call.output(changed(call, call.input("image").tensor(), [&](float value) { return value * factor; }));
               }));
}

}  // namespace testing_pack
