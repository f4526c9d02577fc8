// Whole pictures from a checkpoint file, each in a process of its own.
#pragma once

#include <filesystem>

#include "bench/network_figures.h"

namespace veneer::bench {

// A 20-step picture at 512x512, the part of its steps outside of the UNet, and the memory that it needs.
void measure_picture(BenchSetup& setup, const std::filesystem::path& models);
// From the start of the process to the first step, with the file in the page cache, against packing at the speed of copying.
void measure_cold_start(BenchSetup& setup, const std::filesystem::path& models, const std::filesystem::path& file);

}  // namespace veneer::bench
