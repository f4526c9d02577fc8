#include "veneer/version.h"

#include "engine/build_info.h"

namespace veneer {

const char* version() { return VENEER_VERSION; }
const char* build_commit() { return kBuildCommit; }

}  // namespace veneer
