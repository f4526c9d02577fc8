// "Did you mean": the names that are nearest to one that does not exist.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veneer::registry {

// At most `count` of `names`, nearest first, ties in their order. A name is near when less than half of the longer text differs, or when it has
// `wanted` as its last path part ("sub/wanted") whatever its folders.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names, size_t count = 3);

}  // namespace veneer::registry
