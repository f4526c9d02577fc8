#include "registry/nearest_names.h"

#include <algorithm>
#include <utility>

#include "base/edit_distance.h"

namespace veneer::registry {
namespace {

// Names come from workflows; the cost of a comparison grows with the square of this.
constexpr size_t kMaxComparedBytes = 512;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool same_letter(char a, char b) { return lower(a) == lower(b); }
std::string_view last_part(std::string_view name) { return name.substr(name.find_last_of("/\\") + 1); }

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names, size_t count) {
  if (count == 0 || wanted.size() > kMaxComparedBytes) return {};
  std::vector<std::pair<size_t, size_t>> near;  // (distance, index), sorted, at most `count`
  EditDistance compared(wanted);
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t longer = std::max(wanted.size(), names[i].size());
    if (longer == 0 || longer > kMaxComparedBytes) continue;
    size_t most = (longer - 1) / 2;
    if (near.size() == count) {
      // Of equally near names the first ones count.
      if (near.back().first == 0) break;
      most = std::min(most, near.back().first - 1);
    }
    const size_t distance = std::ranges::equal(last_part(wanted), last_part(names[i]), same_letter) ? size_t{0} : compared.to(names[i], most);
    if (distance > most) continue;
    if (near.size() == count) near.pop_back();
    near.insert(std::ranges::upper_bound(near, std::pair(distance, i)), {distance, i});
  }
  std::vector<std::string> out;
  out.reserve(near.size());
  for (const auto& [distance, index] : near) out.push_back(names[index]);
  return out;
}

}  // namespace veneer::registry
