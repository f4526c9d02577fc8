// How many files this program may have open.
#pragma once

namespace veneer::cli {

// Raises the limit to the most that the system allows: every model in use and every connection has some files open, and the usual 1,024 are soon
// gone. Where that is refused, things stay as they are.
void allow_many_open_files();

}  // namespace veneer::cli
