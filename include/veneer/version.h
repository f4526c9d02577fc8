// The version of the library and of the program.
#pragma once

namespace veneer {

// "0.1.0", the project's semantic version.
const char* version();

// The commit that the library was built from ("unknown" outside of a git checkout), with "-dirty" when files had changed.
const char* build_commit();

}  // namespace veneer
