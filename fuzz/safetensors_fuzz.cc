// Any bytes give an Error or a file whose tensors can be read to their last byte.
#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/safetensors.h"
#include "veneer/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using veneer::formats::SafetensorsFile;
  try {
    const SafetensorsFile file = SafetensorsFile::parse(std::as_bytes(std::span(data, size)), nullptr, "fuzz");
    size_t seen = 0;
    for (const SafetensorsFile::Entry& entry : file.entries()) {
      const veneer::Tensor tensor = file.tensor(entry.name);
      unsigned sum = 0;
      for (const std::byte b : tensor.byte_span()) sum += std::to_integer<unsigned>(b);
      const volatile unsigned keep = sum;
      (void)keep;
      seen += tensor.size_bytes();
    }
    if (!file.entries().empty() && seen > size - 8) __builtin_trap();
  } catch (const veneer::Error&) {
  }
  return 0;
}
