// The lists of the pack `testing`, one per theme.
#pragma once

#include "veneer/plugin.h"

namespace testing_pack {

namespace vp = veneer::plugin;

void add_stubs(vp::Pack& pack);
void add_images(vp::Pack& pack);
void add_changes(vp::Pack& pack);
void add_validations(vp::Pack& pack);
void add_flow(vp::Pack& pack);
void add_loops(vp::Pack& pack);
void add_expansions(vp::Pack& pack);
void add_lists(vp::Pack& pack);
void add_logic(vp::Pack& pack);
void add_async(vp::Pack& pack);
void add_progress(vp::Pack& pack);
void add_recording(vp::Pack& pack);
void add_faults(vp::Pack& pack);

}  // namespace testing_pack
