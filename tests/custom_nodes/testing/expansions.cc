// Nodes that expand.
#include "nodes.h"
#include "pictures.h"

namespace testing_pack {
namespace {

vp::GraphNode stub_image(const vp::Call& call, std::string_view content) {
  return call.expand("StubImage")
      .set("content", call.make(content))
      .set("height", call.make(512))
      .set("width", call.make(512))
      .set("batch_size", call.make(1));
}

vp::GraphNode stub_mask(const vp::Call& call, double value) {
  return call.expand("StubMask")
      .set("value", call.make(value))
      .set("height", call.make(512))
      .set("width", call.make(512))
      .set("batch_size", call.make(1));
}

// Two mixes that need each other.
void make_cycle(vp::Call& call) {
  const vp::GraphNode mask = stub_mask(call, 0.5);
  vp::GraphNode first = call.expand("TestLazyMixImages").set("image1", call.input("input1")).set("mask", mask.out(0));
  const vp::GraphNode second =
      call.expand("TestLazyMixImages").set("image1", first.out(0)).set("image2", call.input("input2")).set("mask", mask.out(0));
  first.set("image2", second.out(0));
  call.output(second.out(0));
}

// Values up to 0.2, a sub-graph above.
void mixed_returns(vp::Call& call) {
  const double level = call.input("input1").number();
  const vp::NewTensor white = large_picture(call, 1);
  if (level <= 0.2) {
    call.output(large_picture(call, level <= 0.1 ? 0.1 : 0.2));
  } else {
    const vp::GraphNode mask = stub_mask(call, 0.3);
    const vp::GraphNode black = stub_image(call, "BLACK");
    const vp::GraphNode bright = stub_image(call, "WHITE");
    const vp::GraphNode mix = call.expand("TestLazyMixImages").set("image1", black.out(0)).set("image2", bright.out(0)).set("mask", mask.out(0));
    call.output(mix.out(0));
  }
  call.output(white);
}

// A text-to-image graph of stock nodes around the models it gets.
void sample(vp::Call& call) {
  const auto prompt = [&](std::string_view name) {
    return call.expand("CLIPTextEncode").set("text", call.input(name)).set("clip", call.input("clip"));
  };
  const vp::GraphNode positive = prompt("prompt");
  const vp::GraphNode negative = prompt("negative_prompt");
  const vp::GraphNode latent =
      call.expand("EmptyLatentImage").set("width", call.make(512)).set("height", call.make(512)).set("batch_size", call.make(1));
  vp::GraphNode sampler = call.expand("KSampler");
  for (const char* name : {"model", "seed", "steps", "cfg"}) sampler.set(name, call.input(name));
  sampler.set("sampler_name", call.make("euler_ancestral")).set("scheduler", call.make("normal")).set("denoise", call.make(1.0));
  sampler.set("positive", positive.out(0)).set("negative", negative.out(0)).set("latent_image", latent.out(0));
  call.output(call.expand("VAEDecode").set("samples", sampler.out(0)).set("vae", call.input("vae")).out(0));
}

void sleep_in_parallel(vp::Call& call) {
  std::vector<vp::GraphNode> sleeps;
  for (const char* number : {"1", "2", "3"}) {
    sleeps.push_back(
        call.expand("TestSleep").set("value", call.input(std::string("image") + number)).set("seconds", call.input(std::string("sleep") + number)));
  }
  vp::GraphNode blend = call.expand("TestVariadicAverage");
  for (size_t i = 0; i < sleeps.size(); ++i) blend.set("input" + std::to_string(i + 1), sleeps[i].out(0));
  call.output(blend.out(0));
}

// As many sleeping nodes as asked for, of both pictures in turn, and their mean.
void generate_sleeps(vp::Call& call) {
  std::vector<vp::GraphNode> sleeps;
  const int64_t count = call.input("num_async_nodes").integer();
  for (int64_t i = 0; i < count; ++i) {
    sleeps.push_back(
        call.expand("TestSleep").set("value", call.input(i % 2 == 0 ? "image1" : "image2")).set("seconds", call.input("sleep_duration")));
  }
  if (sleeps.size() == 1) return call.output(sleeps.front().out(0));
  vp::GraphNode blend = call.expand("TestVariadicAverage");
  for (size_t i = 0; i < sleeps.size(); ++i) blend.set("input" + std::to_string(i + 1), sleeps[i].out(0));
  call.output(blend.out(0));
}

// A picture that is passed on, and a sub-graph that shows one of its own.
void expand_into_output(vp::Call& call) {
  call.expand("PreviewImage").set("images", stub_image(call, "WHITE").out(0));
  call.output(call.input("image"));
}

// Sub-graphs that no engine can run.
void expand_wrongly(vp::Call& call) {
  const std::string_view kind = call.input("kind").text();
  if (kind == "two of one id") {
    call.expand("StubInt", "same");
    call.expand("StubInt", "same");
  }
  if (kind == "unknown class") return call.output(call.expand("NoSuchNode").out(0));
  if (kind == "unknown link") return call.output(vp::Link{"nowhere", 0});
  if (kind == "endless") return call.output(call.expand("TestFaultyExpansion").set("kind", call.input("kind")).out(0));
  call.output(call.input("kind"));
}

vp::Node node(const std::string& name, std::string_view shown, std::string_view category) {
  return vp::Node(name).display_name(shown).category(category);
}

vp::Input seconds(const std::string& name) { return vp::number(name, 0.5).range(0.0, 10.0).step(0.01); }

}  // namespace

void add_expansions(vp::Pack& pack) {
  pack.add(node("TestDynamicDependencyCycle", "Dynamic Dependency Cycle", "Testing/Nodes")
               .inputs({vp::image("input1"), vp::image("input2")})
               .output("IMAGE")
               .run(make_cycle));
  pack.add(node("TestMixedExpansionReturns", "Mixed Expansion Returns", "Testing/Nodes")
               .input(vp::Input("input1", "FLOAT"))
               .output("IMAGE")
               .output("IMAGE")
               .run(mixed_returns));
  pack.add(
      node("TestSamplingInExpansion", "Sampling In Expansion", "Testing/Nodes")
          .inputs({vp::socket("model", "MODEL"), vp::socket("clip", "CLIP"), vp::socket("vae", "VAE"),
                   vp::integer("seed", 0).option("min", vp::Json(0)).option("max", vp::Json(UINT64_MAX)), vp::integer("steps", 20).range(1, 100),
                   vp::number("cfg", 7).range(0.0, 30.0), vp::text("prompt", "a landscape").multiline(), vp::text("negative_prompt", "").multiline()})
          .output("IMAGE")
          .run(sample));
  pack.add(node("TestParallelSleep", "Test Parallel Sleep", "_for_testing")
               .inputs({vp::image("image1"), vp::image("image2"), vp::image("image3"), seconds("sleep1"), seconds("sleep2"), seconds("sleep3"),
                        vp::unique_id()})
               .output("IMAGE")
               .output_node()
               .run(sleep_in_parallel));
  pack.add(node("TestDynamicAsyncGeneration", "Test Dynamic Async Generation", "experimental/async")
               .inputs({vp::image("image1"), vp::image("image2"), vp::integer("num_async_nodes", 3).range(1, 10),
                        vp::number("sleep_duration", 0.2).range(0.1, 1.0)})
               .output("IMAGE")
               .run(generate_sleeps));
  pack.add(node("TestExpandsIntoOutput", "Expands Into Output", "Testing/Nodes")
               .inputs({vp::image("image"), vp::integer("salt", 0)})
               .output("IMAGE")
               .run(expand_into_output));
  pack.add(node("TestFaultyExpansion", "Faulty Expansion", "Testing/Nodes").input(vp::text("kind")).output("*").output_node().run(expand_wrongly));
}

}  // namespace testing_pack
