#include "compute/cpu.h"

#include <array>
#include <string>

#include "compute/kernel_isa.h"
#include "compute/onednn.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

struct Cap {
  std::string_view name;
  onednn::IsaCap onednn;
  std::string_view kernels;
};

constexpr std::array<Cap, 5> kCaps = {Cap{"baseline", onednn::IsaCap::baseline, "baseline"}, Cap{"avx2", onednn::IsaCap::avx2, "avx2"},
                                      Cap{"avx512", onednn::IsaCap::avx512, "avx512"}, Cap{"avx512_bf16", onednn::IsaCap::avx512_bf16, "avx512"},
                                      Cap{"native", onednn::IsaCap::none, "avx512"}};

constexpr std::array<std::string_view, kCaps.size()> kNames = [] {
  std::array<std::string_view, kCaps.size()> names;
  for (size_t i = 0; i < kCaps.size(); ++i) names[i] = kCaps[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> isa_names() { return kNames; }

void set_max_isa(std::string_view name) {
  std::string allowed;
  for (const Cap& cap : kCaps) {
    if (cap.name != name) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(cap.name);
      continue;
    }
    if (!onednn::cap_isa(cap.onednn)) {
      throw Error(ErrorCode::unsupported, "the instruction set cannot be capped once ops have run", {{"wanted", std::string(name)}});
    }
    cap_kernel_isa(cap.kernels);
    return;
  }
  throw Error(ErrorCode::invalid, "unknown instruction set", {{"got", std::string(name)}, {"allowed", allowed}});
}

std::string_view kernel_isa() { return runnable_kernel_isas().back(); }

bool bf16_supported() { return onednn::bf16_supported(); }

bool bf16_native() { return onednn::bf16_native(); }

bool amx_native() { return onednn::amx_native(); }

std::string library_version() { return "oneDNN " + onednn::version(); }

}  // namespace veneer::compute
