// Seeds for many independent streams from one number, as numpy's SeedSequence makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace veneer::sampling {

// `num_words` well mixed 32-bit words from `entropy` and a path of `spawn_key` numbers. `pool_size` >= 1 words of state take part in the mixing.
// Source: O'Neill's seed_seq alternative (2015) in the parameters of numpy.random.SeedSequence.
std::vector<uint32_t> seed_sequence_state(uint64_t entropy, std::span<const uint64_t> spawn_key, size_t pool_size, size_t num_words);

}  // namespace veneer::sampling
