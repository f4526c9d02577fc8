// Sources: pictures, masks and numbers.
#include <atomic>
#include <random>

#include "nodes.h"
#include "pictures.h"

namespace testing_pack {
namespace {

constexpr int64_t kMaxHeight = int64_t{1} << 30;
constexpr int64_t kMaxWidth = int64_t{1} << 36;

vp::Input size(const std::string& name, int64_t max, int64_t default_value = 512) {
  return vp::integer(name, default_value).range(int64_t{1}, max).step(1);
}

std::vector<vp::Input> with_size(vp::Input first) {
  return {std::move(first), size("height", kMaxHeight), size("width", kMaxWidth), size("batch_size", kMaxHeight, 1)};
}

vp::Input level() { return vp::number("value", 0.5).range(0.0, 1.0).step(0.01); }

vp::Node stub(const std::string& name, std::string_view shown) { return vp::Node(name).display_name(shown).category("Testing/Stub Nodes"); }

std::vector<int64_t> asked_size(const vp::Call& call) {
  return {call.input("batch_size").integer(), call.input("height").integer(), call.input("width").integer(), 3};
}

void stub_image(vp::Call& call) {
  const std::string_view content = call.input("content").text();
  vp::NewTensor image = filled(call, "IMAGE", asked_size(call), content == "WHITE" ? 1.0F : 0.0F);
  if (content == "NOISE") {
    std::minstd_rand random{std::random_device()()};
    std::uniform_real_distribution<float> level;
    std::ranges::generate(image.floats, [&] { return level(random); });
  }
  call.output(image);
}

}  // namespace

void add_stubs(vp::Pack& pack) {
  pack.add(stub("StubImage", "Stub Image").inputs(with_size(vp::choice("content", {"WHITE", "BLACK", "NOISE"}))).output("IMAGE").run(stub_image));
  pack.add(stub("StubConstantImage", "Stub Constant Image").inputs(with_size(level())).output("IMAGE").run([](vp::Call& call) {
    call.output(filled(call, "IMAGE", asked_size(call), static_cast<float>(call.input("value").number())));
  }));
  pack.add(stub("StubMask", "Stub Mask").inputs(with_size(level())).output("MASK").run([](vp::Call& call) {
    std::vector<int64_t> shape = asked_size(call);
    shape.pop_back();
    call.output(filled(call, "MASK", shape, static_cast<float>(call.input("value").number())));
  }));
  pack.add(stub("StubInt", "Stub Int")
               .input(vp::integer("value", 0).range(-int64_t{0xffffffff}, int64_t{0xffffffff}).step(1))
               .output("INT")
               .run([](vp::Call& call) { call.output(call.input("value").integer()); }));
  pack.add(stub("StubFloat", "Stub Float").input(vp::number("value", 0).range(-1e38, 1e38).step(0.01)).output("FLOAT").run([](vp::Call& call) {
    call.output(call.input("value").number());
  }));
}

}  // namespace testing_pack
