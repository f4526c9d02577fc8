// XXH3 over bytes that come in any pieces: against mistakes of the machine, not against people.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/fingerprint.h"

namespace veneer {

// How the bytes were cut makes no difference. Move-only, one thread.
class StreamingDigest {
 public:
  // Throws std::bad_alloc.
  StreamingDigest();
  StreamingDigest(StreamingDigest&&) noexcept;
  StreamingDigest& operator=(StreamingDigest&&) noexcept;
  ~StreamingDigest();

  void add(std::span<const std::byte> bytes);
  // Of all bytes added so far; equal to fingerprint_of() of them in one run.
  Fingerprint finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veneer
