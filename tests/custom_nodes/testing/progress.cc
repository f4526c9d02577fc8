// Nodes that tell how far they are while they sleep.
#include "nodes.h"
#include "sleeping.h"

namespace testing_pack {
namespace {

void sleep(vp::Call& call) {
  const double seconds = call.input("seconds").number();
  sleep_through(call, seconds, [&](double passed) { call.progress(passed, seconds); });
  call.output(call.input("value"));
}

void tell_progress(vp::Call& call) {
  const double seconds = call.input("sleep_seconds").number();
  sleep_through(call, seconds, [&](double passed) { call.progress(passed / seconds, 1.0); });
  call.output(call.input("value"));
}

vp::Node teller(const std::string& name, std::string_view shown) {
  return vp::Node(name)
      .display_name(shown)
      .category("experimental/async")
      .inputs({vp::socket("value", "*").with_options(), vp::number("sleep_seconds", 1)})
      .output("*")
      .run(tell_progress);
}

}  // namespace

void add_progress(vp::Pack& pack) {
  pack.add(vp::Node("TestSleep")
               .display_name("Test Sleep")
               .category("_for_testing")
               .inputs({vp::socket("value", "*").with_options(),
                        vp::number("seconds", 1).range(0.0, 9999.0).step(0.01).tip("The amount of seconds to sleep."), vp::unique_id()})
               .output("*")
               .asynchronous()
               .run(sleep));
  pack.add(teller("TestAsyncProgressUpdate", "Async Progress Update Test Node").asynchronous());
  pack.add(teller("TestSyncProgressUpdate", "Sync Progress Update Test Node"));
}

}  // namespace testing_pack
