// What becomes of a mapped file that another program makes shorter.
#pragma once

namespace veneer::engine {

// From now on a read behind the new end of a mapped file gives zeros, where the process would be ended by SIGBUS: one careless copy over a model that
// is in use must not take a server down. What was computed from zeros is refused later (nodes::ModelStore::require_intact). For programs to call,
// once.
void guard_against_truncated_files();

}  // namespace veneer::engine
