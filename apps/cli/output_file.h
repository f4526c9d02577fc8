// Text that a command writes to a file or to standard output.
#pragma once

#include <string>

namespace veneer::cli {

// Throws Error(invalid) when both are one file, by whatever names: writing the output would destroy the input. "-" and "" are no file.
void refuse_same_file(const std::string& input, const std::string& output);

// "-" is standard output. A file is written whole or not at all, and replaces the one of that name. Throws Error naming it.
void write_output(const std::string& path, const std::string& text);

}  // namespace veneer::cli
