// Blockers.
#include "nodes.h"

namespace testing_pack {

void add_flow(vp::Pack& pack) {
  pack.add(vp::Node("TestExecutionBlocker")
               .display_name("Execution Blocker")
               .category("Testing/Flow")
               .inputs({vp::socket("input", "*"), vp::Input("block", "BOOLEAN"), vp::boolean("verbose", false)})
               .output("*", "output")
               .run([](vp::Call& call) {
                 if (!call.input("block").boolean()) return call.output(call.input("input"));
                 call.output(call.input("verbose").boolean() ? call.blocker("Blocked Execution") : call.blocker());
               }));
  // All outputs at once.
  pack.add(vp::Node("TestBlocksAll")
               .category("Testing/Flow")
               .inputs({vp::socket("input", "*"), vp::boolean("verbose", false)})
               .output("*")
               .output("*")
               .run([](vp::Call& call) {
                 if (call.input("verbose").boolean()) return call.block_all("All blocked");
                 call.block_all();
               }));
}

}  // namespace testing_pack
