// Nodes with a change fingerprint of their own.
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "nodes.h"
#include "pictures.h"
#include "sleeping.h"

namespace testing_pack {
namespace {

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

vp::Node node(const std::string& name, std::string_view shown) { return vp::Node(name).display_name(shown).category("Testing/Nodes"); }

// Counts its questions, and fails where the mode says so; the record shows how often it was asked.
void add_counting(vp::Pack& pack) {
  const auto asked = std::make_shared<std::atomic<int>>(0);
  pack.add(node("TestCountsChangeQuestions", "Counts Change Questions")
               .inputs({vp::image("image"), vp::text("mode"), vp::integer("salt", 0)})
               .output_node()
               .change_fingerprint([asked](vp::Call& call) {
                 ++*asked;
                 if (call.has("image")) throw std::runtime_error("a linked input came with a value");
                 if (call.input("mode").text() == "slow") sleep_through(call, 0.03);
                 if (call.input("mode").text() == "throw") throw std::runtime_error("no fingerprint today");
                 call.fingerprint(vp::Json(call.input("mode").text()));
               })
               .run([asked](vp::Call& call) {
                 call.ui({{"asked", vp::Json::list({vp::Json(asked->load())})}});
               }));
}

}  // namespace

void add_changes(vp::Pack& pack) {
  pack.add(node("TestCustomIsChanged", "Custom IsChanged")
               .inputs({vp::image("image"), vp::Input("should_change", "BOOL").with_default(vp::Json(false)).optional()})
               .output("IMAGE")
               .change_fingerprint([](vp::Call& call) {
                 const bool changes = call.has("should_change") && call.input("should_change").boolean();
                 call.fingerprint(changes ? vp::Json(kNever) : vp::Json(false));
               })
               .run([](vp::Call& call) { call.output(call.input("image")); }));
  pack.add(node("TestIsChangedWithConstants", "IsChanged With Constants")
               .inputs({vp::image("image"), vp::number("value", 1).range(0.0, 10.0)})
               .output("IMAGE")
               .change_fingerprint([](vp::Call& call) {
                 if (call.has("image")) throw std::runtime_error("a linked input came with a value");
                 call.fingerprint(vp::Json::raw(std::string(call.input("value").json())));
               })
               .run([](vp::Call& call) {
                 const auto factor = static_cast<float>(call.input("value").number());
                 call.output(changed(call, call.input("image").tensor(), [&](float value) { return value * factor; }));
               }));
  add_counting(pack);
}

}  // namespace testing_pack
