// The pack `testing`: helper nodes for tests of execution, with the names and inputs that clients' own tests use.
#include "nodes.h"

VENEER_PLUGIN(pack) {
  testing_pack::add_stubs(pack);
  testing_pack::add_images(pack);
  testing_pack::add_changes(pack);
  testing_pack::add_validations(pack);
  testing_pack::add_flow(pack);
  testing_pack::add_loops(pack);
  testing_pack::add_expansions(pack);
  testing_pack::add_lists(pack);
  testing_pack::add_logic(pack);
  testing_pack::add_async(pack);
  testing_pack::add_progress(pack);
  testing_pack::add_recording(pack);
  testing_pack::add_faults(pack);
}
