// The stack machine behind read_pickle.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/byte_reader.h"
#include "formats/pickle.h"

namespace veneer::formats {

// Runs one pickle. Every opcode adds at most one node and a bounded number of items, or pays for what it copies out of the limits in pickle.h, so
// that time and memory are linear in the pickle's length. Nothing here is recursive.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, size_t begin, const std::string& file, PickleData& data);
  PickleResult run();

 private:
  // Each does what the opcode says, if it is one of its group.
  bool frame_opcode(uint8_t opcode);
  bool number_opcode(uint8_t opcode);
  bool text_opcode(uint8_t opcode);
  bool sequence_opcode(uint8_t opcode);
  bool dict_opcode(uint8_t opcode);
  bool stack_opcode(uint8_t opcode);
  bool memo_opcode(uint8_t opcode);
  bool object_opcode(uint8_t opcode);

  NodeId add(PickleNode node);
  void push(PickleNode node) { push(add(std::move(node))); }
  void push(NodeId id);
  NodeId pop();
  NodeId top();
  // The values above the topmost mark, which goes with them.
  std::vector<NodeId> pop_to_mark();
  std::vector<NodeId> pop_last(size_t count);
  PickleNode& node(NodeId id) { return data_.nodes[id]; }
  void charge(size_t items);

  void push_text(NodeKind kind, std::string_view text);
  void push_line_number(bool is_long);
  void push_long(std::string_view bytes);
  std::string_view line();
  std::string_view quoted_line();
  void append(NodeId target, std::span<const NodeId> items);
  void set_items(NodeId target, std::span<const NodeId> items);
  void push_global(std::string_view module, std::string_view name);
  void call(NodeId callable, NodeId arguments);
  void build(NodeId object);
  void put(uint64_t index);
  void get(uint64_t index);
  uint64_t line_index();

  Error fail(std::string text, ErrorCode code = ErrorCode::corrupt, Error::Context more = {}) const;

  const std::string& file_;
  ByteReader reader_;
  PickleData& data_;
  std::vector<NodeId> stack_;
  std::vector<size_t> marks_;  // places in the stack
  std::unordered_map<uint64_t, NodeId> memo_;
  size_t items_ = 0;
  size_t opcode_at_ = 0;
  uint8_t opcode_ = 0;
};

}  // namespace veneer::formats
