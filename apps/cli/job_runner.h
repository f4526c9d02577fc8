// Runs a job for a command: progress, interruption by Ctrl-C, and the result as text or JSON.
#pragma once

#include <functional>

#include "engine_flags.h"
#include "veneer/engine.h"

namespace veneer::cli {

// Opens an engine, calls `job` with options that show progress and stop on SIGINT or SIGTERM, and prints what was saved. Returns the exit code.
int run_job(const EngineFlags& flags, JobOptions options, const std::function<JobResult(Engine&, const JobOptions&)>& job);

}  // namespace veneer::cli
