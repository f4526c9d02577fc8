#include "patch/patch_compat.h"

#include <string>

#include "veneer/error.h"

namespace veneer::patch {

PatchCompat patch_compat_from_string(std::string_view name) {
  if (name == "standard") return PatchCompat::standard;
  if (name == "reference") return PatchCompat::reference;
  throw Error(ErrorCode::invalid, "unknown patch compatibility", {{"name", std::string(name)}, {"allowed", "standard reference"}});
}

}  // namespace veneer::patch
