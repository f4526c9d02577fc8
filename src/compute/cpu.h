// What the machine's instruction set offers to the ops, and a cap on it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace veneer::compute {

// The names set_max_isa takes, lowest first: "baseline" (SSE4.1 in oneDNN), "avx2", "avx512", "avx512_bf16", "native" (no cap).
std::span<const std::string_view> isa_names();

// Caps the instruction sets that Highway kernels and oneDNN may use, for the whole process. To be called once by the composition root before
// the first op runs: oneDNN fixes its choice at its first primitive. Throws Error(invalid) naming the allowed values for another name, and
// Error(unsupported) when oneDNN was in use already.
void set_max_isa(std::string_view name);

// "baseline", "avx2" or "avx512": what the Highway kernels run on now.
std::string_view kernel_isa();

// Whether Linear, Conv2d and attention can run in bf16 here at all, under the cap.
bool bf16_supported();
// Whether the CPU has instructions for it: AMX-BF16 or AVX512-BF16. Always half the bytes of f32; several times the rate with AMX, about twice on
// AMD, and on Intel's cores without AMX only about 0.6 of it (docs/performance.md).
bool bf16_native();
// Whether it multiplies tiles (AMX-BF16).
bool amx_native();

// Name and version of the library that multiplies, for what is measured of it.
std::string library_version();

}  // namespace veneer::compute
