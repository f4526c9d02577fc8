#include "registry/nearest_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace veneer::registry {
namespace {

// Names come from workflows; the cost of a comparison grows with the square of this.
constexpr size_t kMaxComparedBytes = 512;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool same_letter(char a, char b) { return lower(a) == lower(b); }
std::string_view last_part(std::string_view name) { return name.substr(name.find_last_of("/\\") + 1); }

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b, size_t most) {
  const size_t apart = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (apart > most) return most + 1;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
      least = std::min(least, row[j]);
    }
    if (least > most) return most + 1;
  }
  return std::min(row[b.size()], most + 1);
}

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names, size_t count) {
  std::vector<std::pair<size_t, size_t>> near;  // (distance, index)
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t longer = std::max(wanted.size(), names[i].size());
    if (longer == 0 || longer > kMaxComparedBytes) continue;
    if (std::ranges::equal(last_part(wanted), last_part(names[i]), same_letter)) {
      near.emplace_back(0, i);
      continue;
    }
    const size_t most = (longer - 1) / 2;
    const size_t distance = edit_distance(wanted, names[i], most);
    if (distance <= most) near.emplace_back(distance, i);
  }
  std::ranges::sort(near);
  std::vector<std::string> out;
  for (const auto& [distance, index] : near) {
    if (out.size() == count) break;
    out.push_back(names[index]);
  }
  return out;
}

}  // namespace veneer::registry
