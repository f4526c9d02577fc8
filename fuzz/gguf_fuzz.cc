// Any bytes give an Error or a file whose tensors can be read, and their blocks turned into values, to the last one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "tensor/quantised_blocks.h"
#include "veneer/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto owner = std::make_shared<const char>();
  const std::string name = "fuzz";
  try {
    const veneer::formats::ModelContents contents = veneer::formats::read_gguf(bytes, owner, name);
    for (const auto& stored : contents.tensors) {
      const veneer::Tensor& tensor = stored.stored;
      unsigned sum = 0;
      for (const std::byte b : tensor.byte_span()) sum += std::to_integer<unsigned>(b);
      const volatile unsigned keep = sum;
      (void)keep;
      if (!veneer::is_quantised(tensor.dtype()) || tensor.num_elements() == 0) continue;
      std::vector<float> values(static_cast<size_t>(tensor.num_elements()));
      veneer::dequantise_blocks(tensor.dtype(), tensor.bytes(), values.size() / veneer::block_size(tensor.dtype()).elements, values.data());
    }
  } catch (const veneer::Error&) {
  }
  return 0;
}
