#include "residency/page_in.h"

namespace veneer::residency {

void page_in(std::span<const std::byte> bytes) noexcept {
  // The smallest page there is; on systems with larger ones some are looked at twice.
  constexpr size_t kPage = 4096;
  if (bytes.empty()) return;
  const auto look = [](const std::byte& byte) { (void)*static_cast<const volatile std::byte*>(&byte); };
  for (size_t at = 0; at < bytes.size(); at += kPage) look(bytes[at]);
  look(bytes.back());
}

}  // namespace veneer::residency
