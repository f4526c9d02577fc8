// Trying a plug-in in a process of its own first, so that one that crashes or hangs while it is loaded is refused instead of taking the server along.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace veneer::plugins {

// Starts `command` with the library's path as its last argument and waits for its answer. The program has to call run_probe. Returns "" if the
// library loads there, else why not: its own reason, the signal that ended it, that it ended without an answer or took longer than the limit.
std::string probe_library(const std::vector<std::string>& command, const std::filesystem::path& file, std::chrono::milliseconds limit);

// The other side: loads the library, tells the waiting process what came of it and ends this one. Never returns.
[[noreturn]] void run_probe(const std::filesystem::path& file);

}  // namespace veneer::plugins
