// A workflow as it lies in a file.
#pragma once

#include <string>

#include "veneer/error.h"

namespace veneer::cli {

// The bytes of a file, or of standard input for "-". Throws Error naming the file when it cannot be read or has more than a workflow may have.
std::string read_workflow_file(const std::string& path);

// The same of a lock, which is not empty.
std::string read_lock_file(const std::string& path);

// The error with the file that it is about: errors of a lock begin with "lock:".
Error about(const Error& error, const std::string& workflow, const std::string& lock);

// Where the lock of a workflow lies if nobody says otherwise: "a/txt2img.json" -> "a/txt2img.lock.json".
std::string lock_beside(const std::string& workflow);

}  // namespace veneer::cli
