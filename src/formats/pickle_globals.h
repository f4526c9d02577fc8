// The classes and functions that a pickle may name. A name is looked up here and nowhere else: nothing is ever imported.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace veneer::formats {

enum class GlobalUse : uint8_t {
  dict,    // called: an empty dict, or one of pairs
  list,    // called: the elements of its argument
  call,    // called: recorded with its arguments, for whoever reads the pickle
  name,    // stands for itself (a dtype, a kind of storage), is not called
  opaque,  // may be named, called and given a state; all of that is forgotten
};

struct GlobalRule {
  std::string_view name;  // "module.name", lives as long as the program, but for opaque ones
  GlobalUse use;
};

// nullopt for a name that is refused. `name`: "module.name".
std::optional<GlobalRule> find_global(std::string_view name);

}  // namespace veneer::formats
