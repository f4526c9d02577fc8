// Runs a job for a command: progress, interruption by Ctrl-C, and the result as text or JSON.
#pragma once

#include <functional>

#include "engine_flags.h"
#include "veneer/engine.h"

namespace veneer::cli {

// Calls `job` with options that show progress (unless `quiet`) and that stop it on SIGINT or SIGTERM.
JobResult watch_job(bool quiet, JobOptions options, const std::function<JobResult(const JobOptions&)>& job);

// Opens an engine, calls `job` as watch_job does, and prints what was saved, and the error if the job failed. Returns the exit code.
int run_job(const EngineFlags& flags, JobOptions options, const std::function<JobResult(Engine&, const JobOptions&)>& job);

}  // namespace veneer::cli
