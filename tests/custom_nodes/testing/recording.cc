// The nodes of the recorded runs.
#include <new>

#include "nodes.h"
#include "sleeping.h"

namespace testing_pack {
namespace {

vp::Node node(const std::string& name) { return vp::Node(name).display_name(name).category("testing"); }

// Reports `steps` steps, `delay` seconds each.
void step_by_step(vp::Call& call) {
  const int64_t steps = call.input("steps").integer();
  const std::string_view preview = call.input("preview").text();
  for (int64_t step = 1; step <= steps; ++step) {
    sleep_through(call, call.input("delay").number());
    if (preview == "none") {
      call.progress(step, steps);
    } else {
      call.preview(step, steps, call.input("image"), preview);
    }
  }
  call.output(call.input("image"));
}

void fail(vp::Call& call) {
  const std::string text(call.input("text").text());
  const std::string_view kind = call.input("kind").text();
  if (kind == "value") throw vp::Error(VENEER_INVALID, text);
  if (kind == "oom") throw vp::Error(VENEER_NO_MEMORY, text);
  throw std::runtime_error(text);
}

}  // namespace

void add_recording(vp::Pack& pack) {
  pack.add(node("RecProgress")
               .inputs({vp::image("image"), vp::integer("steps", 5).range(1, 10000), vp::number("delay", 0).range(0.0, 10.0).step(0.01),
                        vp::choice("preview", {"none", "PNG", "JPEG"}), vp::integer("salt", 0).range(0, 1000000)})
               .output("IMAGE")
               .run(step_by_step));
  pack.add(node("RecFail")
               .inputs({vp::image("image"), vp::choice("kind", {"runtime", "value", "oom"}), vp::text("text"),
                        vp::number("number", 0).range(-10.0, 10.0).step(0.01), vp::boolean("flag", true)})
               .output("IMAGE")
               .run(fail));
  pack.add(node("RecText").inputs({vp::image("image"), vp::text("text")}).output("IMAGE").run([](vp::Call& call) {
    const std::string text(call.input("text").text());
    call.progress_text(text);
    call.progress_text(text + " to one");
    call.output(call.input("image"));
  }));
  pack.add(node("RecUI").inputs({vp::text("value"), vp::unique_id()}).output("STRING").output_node().run([](vp::Call& call) {
    call.ui({{"text", vp::Json::list({vp::Json(call.input("value").text())})},
             {"extra", vp::Json::list({vp::Json(true)})},
             {"uid", vp::Json::list({vp::Json(call.node_id())})}});
    call.output(call.input("value"));
  }));
}

}  // namespace testing_pack
