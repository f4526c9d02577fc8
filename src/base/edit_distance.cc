#include "base/edit_distance.h"

#include <algorithm>

namespace veneer {
namespace {

constexpr size_t kBits = 64, kLetters = 256;

size_t letter(char c) { return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c); }

}  // namespace

EditDistance::EditDistance(std::string_view text) : size_(text.size()), words_((text.size() + kBits - 1) / kBits), places_(words_ * kLetters) {
  for (size_t i = 0; i < size_; ++i) places_[letter(text[i]) * words_ + i / kBits] |= uint64_t{1} << (i % kBits);
}

size_t EditDistance::to(std::string_view other, size_t most) {
  const size_t apart = size_ > other.size() ? size_ - other.size() : other.size() - size_;
  if (apart > most) return most + 1;
  if (size_ == 0) return other.size();
  up_.assign(words_, ~uint64_t{0});
  down_.assign(words_, 0);
  size_t edits = size_;
  for (size_t j = 0; j < other.size(); ++j) {
    const int last = step(&places_[letter(other[j]) * words_]);
    edits = last > 0 ? edits + 1 : last < 0 ? edits - 1 : edits;
    // Each further letter takes back one at most.
    if (edits > most + (other.size() - 1 - j)) return most + 1;
  }
  return std::min(edits, most + 1);
}

// One column further. Returns how the last row changes: 1, 0 or -1.
int EditDistance::step(const uint64_t* places) {
  uint64_t up_in = 1, down_in = 0;  // the first row grows by one in every column
  int last = 0;
  for (size_t w = 0; w < words_; ++w) {
    const uint64_t up = up_[w], down = down_[w], vertical = places[w] | down, equal = places[w] | down_in;
    const uint64_t diagonal = (((equal & up) + up) ^ up) | equal;
    uint64_t up_out = down | ~(diagonal | up), down_out = up & diagonal;
    if (w + 1 == words_) {
      const uint64_t bit = uint64_t{1} << ((size_ - 1) % kBits);
      last = (up_out & bit) != 0 ? 1 : (down_out & bit) != 0 ? -1 : 0;
    }
    const uint64_t up_next = up_out >> (kBits - 1), down_next = down_out >> (kBits - 1);
    up_out = (up_out << 1) | up_in;
    down_out = (down_out << 1) | down_in;
    up_[w] = down_out | ~(vertical | up_out);
    down_[w] = up_out & vertical;
    up_in = up_next;
    down_in = down_next;
  }
  return last;
}

}  // namespace veneer
