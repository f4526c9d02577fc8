// What a pickle describes, as plain data. Nothing is imported, called or constructed: a call is recorded as a call. Grammar: docs/formats/pickle.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veneer::formats {

// Limits of one pickle; its memory stays under some 150 MB.
inline constexpr size_t kMaxPickleNodes = 1'000'000;
// Places on the stack, in the memo and in containers, all together.
inline constexpr size_t kMaxPickleItems = 8'000'000;

using NodeId = uint32_t;

enum class NodeKind : uint8_t {
  none,
  boolean,      // integer
  integer,      // integer
  big_integer,  // text: two's complement, little-endian
  real,         // real
  string,       // text
  bytes,        // text
  tuple,        // items
  list,         // items; sets too
  dict,         // items: key, value, key, value, ...; in order, keys may repeat
  global,       // text: "module.name"
  call,         // items: the global, then its arguments
  persistent,   // items: the one value that identifies what lies outside of the pickle
  opaque,       // an object of a class that is let pass and means nothing here
  mark,         // never seen from outside
};

struct PickleNode {
  NodeKind kind = NodeKind::none;
  int64_t integer = 0;
  double real = 0;
  std::string_view text = {};  // into the pickle's bytes or the table of globals
  std::vector<NodeId> items = {};
};

// The nodes of one or more pickles that lie one after another. Containers may hold themselves: walk with a limit.
struct PickleData {
  std::vector<PickleNode> nodes;
  std::vector<NodeId> persistent;  // all of that kind, in order

  const PickleNode& operator[](NodeId id) const { return nodes[id]; }
  // The value under a string key of a dict (the last of several), or null. `dict` may be of any kind.
  const PickleNode* find(const PickleNode& dict, std::string_view key) const;
};

struct PickleResult {
  NodeId root = 0;
  size_t end = 0;  // the byte behind the pickle's STOP
};

// Reads the pickle (protocols 0 to 5) that begins at byte `begin` of `bytes`, which have to outlive `data`, and adds its nodes to `data`.
// Throws Error(unsupported) naming `file`, opcode and byte for an opcode, and the global for a class or function, that is not on the list of those
// which model files need; Error(corrupt) for a broken, cut or too large pickle.
PickleResult read_pickle(std::span<const std::byte> bytes, size_t begin, const std::string& file, PickleData& data);

}  // namespace veneer::formats
