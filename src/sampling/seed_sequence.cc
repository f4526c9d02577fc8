#include "sampling/seed_sequence.h"

namespace veneer::sampling {
namespace {

constexpr uint32_t kShift = 16;

// A number as 32-bit words, low word first, without leading zeros; 0 is one word.
void append_words(std::vector<uint32_t>& words, uint64_t number) {
  do {
    words.push_back(static_cast<uint32_t>(number));
    number >>= 32;
  } while (number != 0);
}

// A multiplicative hash whose constants change with every use.
class Hash {
 public:
  Hash(uint32_t init, uint32_t multiplier) : constant_(init), multiplier_(multiplier) {}
  uint32_t operator()(uint32_t value) {
    value ^= constant_;
    constant_ *= multiplier_;
    value *= constant_;
    return value ^ (value >> kShift);
  }

 private:
  uint32_t constant_;
  uint32_t multiplier_;
};

uint32_t mix(uint32_t x, uint32_t y) {
  const uint32_t mixed = 0xca01f9ddU * x - 0x4973f715U * y;
  return mixed ^ (mixed >> kShift);
}

}  // namespace

std::vector<uint32_t> seed_sequence_state(uint64_t entropy, std::span<const uint64_t> spawn_key, size_t pool_size, size_t num_words) {
  std::vector<uint32_t> words;
  append_words(words, entropy);
  // Padded, so that a long entropy never looks like a short one with a spawn key.
  if (!spawn_key.empty() && words.size() < pool_size) words.resize(pool_size, 0);
  for (const uint64_t key : spawn_key) append_words(words, key);

  Hash hash(0x43b0d7e5U, 0x931e8875U);
  std::vector<uint32_t> pool(pool_size);
  for (size_t i = 0; i < pool_size; ++i) pool[i] = hash(i < words.size() ? words[i] : 0);
  for (size_t from = 0; from < pool_size; ++from) {
    for (size_t to = 0; to < pool_size; ++to) {
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
    }
  }
  for (size_t from = pool_size; from < words.size(); ++from) {
    for (size_t to = 0; to < pool_size; ++to) pool[to] = mix(pool[to], hash(words[from]));
  }

  Hash output_hash(0x8b51f9ddU, 0x58f38dedU);
  std::vector<uint32_t> state(num_words);
  for (size_t i = 0; i < num_words; ++i) state[i] = output_hash(pool[i % pool_size]);
  return state;
}

}  // namespace veneer::sampling
