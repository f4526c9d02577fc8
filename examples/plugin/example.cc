// A node plug-in: a node that brightens a picture, and one that makes a list of numbers. Built as example.so.
#include <algorithm>
#include <vector>

#include "veneer/plugin.h"

namespace vp = veneer::plugin;

namespace {

void brighten(vp::Call& call) {
  const vp::TensorView image = call.input("image").tensor();  // [N, H, W, 3] in 0..1
  const auto amount = static_cast<float>(call.input("amount").number());
  const vp::NewTensor out = call.tensor("IMAGE", {image.shape().begin(), image.shape().end()});
  const size_t row = out.floats.size() / static_cast<size_t>(image.dim(0) * image.dim(1));
  for (size_t i = 0; i < out.floats.size(); ++i) {
    if (i % row == 0) call.progress(static_cast<int64_t>(i / row), image.dim(0) * image.dim(1));  // ends here when the job is cancelled
    out.floats[i] = std::clamp(image.floats()[i] + amount, 0.0F, 1.0F);
  }
  call.output(out);
}

void count_up(vp::Call& call) {
  std::vector<vp::Value> numbers;
  for (int64_t i = 0; i < call.input("count").integer(); ++i) numbers.push_back(call.make(i));
  call.output(call.list(numbers));
}

}  // namespace

VENEER_PLUGIN(pack) {
  pack.add(vp::Node("ExampleBrighten")
               .display_name("Brighten (example)")
               .category("example")
               .help("Adds to all values of a picture.")
               .inputs({vp::image("image"), vp::number("amount", 0.1).range(-1.0, 1.0).step(0.01).tip("how much; below 0 darkens")})
               .output("IMAGE")
               .run(brighten));
  pack.add(vp::Node("ExampleCountUp").category("example").input(vp::integer("count", 3).range(1, 1000)).list_output("INT", "number").run(count_up));
}
