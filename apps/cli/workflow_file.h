// A workflow as it lies in a file.
#pragma once

#include <string>

namespace veneer::cli {

// The bytes of a file, or of standard input for "-". Throws Error naming the file when it cannot be read or has more than a workflow may have.
std::string read_workflow_file(const std::string& path);

}  // namespace veneer::cli
