// Nodes that check their inputs themselves.
#include "nodes.h"
#include "pictures.h"

namespace testing_pack {
namespace {

const std::vector<std::string> kBoth = {"input1", "input2"};

vp::Node node(int number) {
  return vp::Node("TestCustomValidation" + std::to_string(number))
      .display_name("Custom Validation " + std::to_string(number))
      .category("Testing/Nodes")
      .output("IMAGE");
}

// A picture or a number times another one.
vp::Value product(const vp::Call& call) {
  const vp::Value first = call.input("input1");
  const vp::Value second = call.input("input2");
  if (!first.is_tensor() && !second.is_tensor()) return large_picture(call, first.number() * second.number()).value;
  if (first.is_tensor() && second.is_tensor()) {
    const vp::TensorView a = first.tensor();
    const vp::TensorView b = second.tensor();
    require_equal_shapes(a, b);
    vp::NewTensor out = call.tensor("IMAGE", shape_of(a));
    for (size_t i = 0; i < out.floats.size(); ++i) out.floats[i] = a.floats()[i] * b.floats()[i];
    return out.value;
  }
  const auto factor = static_cast<float>((first.is_tensor() ? second : first).number());
  return changed(call, (first.is_tensor() ? first : second).tensor(), [&](float value) { return value * factor; }).value;
}

void multiply(vp::Call& call) { call.output(product(call)); }

// Constants have to be numbers with a point.
void refuse_other_constants(vp::Call& call) {
  for (const std::string& name : kBoth) {
    const vp::Value value = call.input(name);
    if (value && value.kind() != VENEER_KIND_NUMBER) call.refuse(std::string("Invalid type of ").append(name).append(": ").append(value.type()));
  }
}

void refuse_other_links(vp::Call& call) {
  for (const std::string& name : kBoth) {
    const std::string type = call.input_type(name);
    if (!type.empty() && type != "IMAGE" && type != "FLOAT" && type != "IMAGE,FLOAT" && type != "*")
      call.refuse(std::string("Invalid type of ").append(name).append(": ").append(type));
  }
}

std::vector<vp::Input> unions() { return {vp::socket("input1", "IMAGE,FLOAT"), vp::socket("input2", "IMAGE,FLOAT")}; }

}  // namespace

void add_validations(vp::Pack& pack) {
  pack.add(node(1).inputs(unions()).validate(kBoth, refuse_other_constants).run(multiply));
  pack.add(node(2)
               .inputs(unions())
               .validate_types(kBoth,
                               [](vp::Call& call) {
                                 refuse_other_constants(call);
                                 refuse_other_links(call);
                               })
               .run(multiply));
  pack.add(node(3).inputs(unions()).validate_types({}, refuse_other_links).run(multiply));
  pack.add(node(4).inputs({vp::Input("input1", "FLOAT"), vp::Input("input2", "FLOAT")}).validate(kBoth, refuse_other_constants).run(multiply));
  pack.add(node(5)
               .inputs({vp::Input("input1", "FLOAT").range(0.0, 1.0), vp::Input("input2", "FLOAT").range(0.0, 1.0)})
               .validate_all([](vp::Call& call) {
                 if (call.has("input2") && call.input("input2").number() == 7) call.refuse("7 is not welcome here");
               })
               .run(multiply));
}

}  // namespace testing_pack
