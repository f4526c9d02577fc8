// The machine itself: stack, memo, and the opcodes that make containers and name globals. pickle_literals.cc has those that make numbers and texts.
#include "formats/pickle_machine.h"

#include <array>
#include <charconv>
#include <utility>

#include "formats/pickle_globals.h"

namespace veneer::formats {
namespace {

constexpr size_t kMaxGlobalBytes = 256;

// The opcode as Python's pickletools call it, for errors; the number where a name says no more.
std::string opcode_name(uint8_t opcode) {
  switch (opcode) {
    case 'c': return "GLOBAL";
    case 0x93: return "STACK_GLOBAL";
    case 'i': return "INST";
    case 'o': return "OBJ";
    case 'R': return "REDUCE";
    case 0x81: return "NEWOBJ";
    case 0x92: return "NEWOBJ_EX";
    case 'b': return "BUILD";
    case 'P': return "PERSID";
    case 0x82: return "EXT1";
    case 0x83: return "EXT2";
    case 0x84: return "EXT4";
    case 0x97: return "NEXT_BUFFER";
    case 0x98: return "READONLY_BUFFER";
    default: return std::to_string(opcode);
  }
}

bool is_text(const PickleNode& node) { return node.kind == NodeKind::string || node.kind == NodeKind::bytes; }

std::string_view kind_name(NodeKind kind) {
  constexpr std::array<std::string_view, 15> kNames = {
      "None",   "a boolean", "an integer",           "an integer",          "a number",  "a string", "bytes", "a tuple", "a list",
      "a dict", "a global",  "the result of a call", "a persistent object", "an object", "a mark"};
  return kNames.at(static_cast<size_t>(kind));
}

}  // namespace

const PickleNode* PickleData::find(const PickleNode& dict, std::string_view key) const {
  if (dict.kind != NodeKind::dict) return nullptr;
  const PickleNode* found = nullptr;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleNode& name = nodes[dict.items[i]];
    if (name.kind == NodeKind::string && name.text == key) found = &nodes[dict.items[i + 1]];
  }
  return found;
}

PickleResult read_pickle(std::span<const std::byte> bytes, size_t begin, const std::string& file, PickleData& data) {
  return PickleMachine(bytes, begin, file, data).run();
}

PickleMachine::PickleMachine(std::span<const std::byte> bytes, size_t begin, const std::string& file, PickleData& data)
    : file_(file), reader_(bytes, file, "pickle: file is truncated"), data_(data) {
  reader_.seek(begin);
}

PickleResult PickleMachine::run() {
  while (true) {
    opcode_at_ = reader_.position();
    opcode_ = reader_.u8();
    if (opcode_ == '.') {
      if (stack_.size() != 1 || !marks_.empty()) throw fail("pickle: not one value is left at the end");
      return {stack_.back(), reader_.position()};
    }
    const bool known = text_opcode(opcode_) || memo_opcode(opcode_) || number_opcode(opcode_) || sequence_opcode(opcode_) || dict_opcode(opcode_) ||
                       stack_opcode(opcode_) || object_opcode(opcode_) || frame_opcode(opcode_);
    if (!known) throw fail("pickle: opcode is not one that model files need", ErrorCode::unsupported);
  }
}

bool PickleMachine::frame_opcode(uint8_t opcode) {
  if (opcode == 0x80) {  // PROTO
    if (const uint8_t protocol = reader_.u8(); protocol > 5) {
      throw fail("pickle: protocol is not known", ErrorCode::unsupported, {{"protocol", std::to_string(protocol)}, {"most", "5"}});
    }
    return true;
  }
  if (opcode != 0x95) return false;  // FRAME: a hint of how much to read ahead
  if (reader_.u64() > reader_.remaining()) throw fail("pickle: file is truncated: frame leaves it");
  return true;
}

bool PickleMachine::sequence_opcode(uint8_t opcode) {
  switch (opcode) {
    case ')': push({.kind = NodeKind::tuple}); return true;
    case ']':
    case 0x8f: push({.kind = NodeKind::list}); return true;                          // EMPTY_LIST, EMPTY_SET
    case 't': push({.kind = NodeKind::tuple, .items = pop_to_mark()}); return true;  // TUPLE
    case 'l':
    case 0x91: push({.kind = NodeKind::list, .items = pop_to_mark()}); return true;  // LIST, FROZENSET
    case 0x85:
    case 0x86:
    case 0x87: push({.kind = NodeKind::tuple, .items = pop_last(opcode - 0x84U)}); return true;  // TUPLE1, 2, 3
    case 'a': {                                                                                  // APPEND
      const std::vector<NodeId> item = pop_last(1);
      append(top(), item);
      return true;
    }
    case 'e':
    case 0x90: {  // APPENDS, ADDITEMS
      const std::vector<NodeId> items = pop_to_mark();
      append(top(), items);
      return true;
    }
    default: return false;
  }
}

bool PickleMachine::dict_opcode(uint8_t opcode) {
  switch (opcode) {
    case '}': push({.kind = NodeKind::dict}); return true;
    case 'd': {  // DICT
      std::vector<NodeId> items = pop_to_mark();
      if (items.size() % 2 != 0) throw fail("pickle: a key has no value");
      push({.kind = NodeKind::dict, .items = std::move(items)});
      return true;
    }
    case 's': {  // SETITEM
      const std::vector<NodeId> item = pop_last(2);
      set_items(top(), item);
      return true;
    }
    case 'u': {  // SETITEMS
      const std::vector<NodeId> items = pop_to_mark();
      set_items(top(), items);
      return true;
    }
    default: return false;
  }
}

bool PickleMachine::stack_opcode(uint8_t opcode) {
  switch (opcode) {
    case '(':
      charge(1);
      marks_.push_back(stack_.size());
      return true;
    case '0':  // POP; of a mark too
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
      } else {
        (void)pop();
      }
      return true;
    case '1': (void)pop_to_mark(); return true;
    case '2': push(top()); return true;  // DUP
    default: return false;
  }
}

bool PickleMachine::memo_opcode(uint8_t opcode) {
  switch (opcode) {
    case 'q': put(reader_.u8()); return true;
    case 'r': put(reader_.u32()); return true;
    case 'p': put(line_index()); return true;
    case 0x94: put(memo_.size()); return true;  // MEMOIZE
    case 'h': get(reader_.u8()); return true;
    case 'j': get(reader_.u32()); return true;
    case 'g': get(line_index()); return true;
    default: return false;
  }
}

bool PickleMachine::object_opcode(uint8_t opcode) {
  switch (opcode) {
    case 'c': {  // GLOBAL
      const std::string_view module = line();
      push_global(module, line());
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const std::vector<NodeId> names = pop_last(2);
      if (node(names[0]).kind != NodeKind::string || node(names[1]).kind != NodeKind::string) throw fail("pickle: name of a global is not a string");
      push_global(node(names[0]).text, node(names[1]).text);
      return true;
    }
    case 'R':
    case 0x81: {  // REDUCE, NEWOBJ
      const std::vector<NodeId> parts = pop_last(2);
      call(parts[0], parts[1]);
      return true;
    }
    case 0x92: {  // NEWOBJ_EX
      const std::vector<NodeId> parts = pop_last(3);
      if (node(parts[0]).kind != NodeKind::opaque) throw fail("pickle: object with named arguments is refused", ErrorCode::unsupported);
      push({.kind = NodeKind::opaque});
      return true;
    }
    case 'i': {  // INST
      const std::string_view module = line();
      push_global(module, line());
      const NodeId callable = pop();
      call(callable, add({.kind = NodeKind::tuple, .items = pop_to_mark()}));
      return true;
    }
    case 'o': {  // OBJ
      std::vector<NodeId> parts = pop_to_mark();
      if (parts.empty()) throw fail("pickle: object has no class");
      const NodeId callable = parts.front();
      parts.erase(parts.begin());
      call(callable, add({.kind = NodeKind::tuple, .items = std::move(parts)}));
      return true;
    }
    case 'b': {  // BUILD
      (void)pop();
      build(top());
      return true;
    }
    case 'Q': {  // BINPERSID
      const NodeId id = add({.kind = NodeKind::persistent, .items = pop_last(1)});
      data_.persistent.push_back(id);
      push(id);
      return true;
    }
    default: return false;
  }
}

NodeId PickleMachine::add(PickleNode node) {
  if (data_.nodes.size() >= kMaxPickleNodes) throw fail("pickle: too many values", ErrorCode::corrupt, {{"most", std::to_string(kMaxPickleNodes)}});
  charge(node.items.size());
  data_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(data_.nodes.size() - 1);
}

void PickleMachine::charge(size_t items) {
  items_ += items;
  if (items_ > kMaxPickleItems) throw fail("pickle: too many values", ErrorCode::corrupt, {{"most", std::to_string(kMaxPickleItems)}});
}

void PickleMachine::push(NodeId id) {
  charge(1);
  stack_.push_back(id);
}

NodeId PickleMachine::top() {
  if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) throw fail("pickle: opcode finds nothing on the stack");
  return stack_.back();
}

NodeId PickleMachine::pop() {
  const NodeId id = top();
  stack_.pop_back();
  return id;
}

std::vector<NodeId> PickleMachine::pop_to_mark() {
  if (marks_.empty()) throw fail("pickle: opcode finds no mark on the stack");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<NodeId> out(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return out;
}

std::vector<NodeId> PickleMachine::pop_last(size_t count) {
  std::vector<NodeId> out(count);
  for (size_t i = count; i-- > 0;) out[i] = pop();
  return out;
}

void PickleMachine::append(NodeId target, std::span<const NodeId> items) {
  PickleNode& list = node(target);
  if (list.kind == NodeKind::opaque) return;
  if (list.kind != NodeKind::list)
    throw fail("pickle: appends to what is no list", ErrorCode::corrupt, {{"found", std::string(kind_name(list.kind))}});
  charge(items.size());
  list.items.insert(list.items.end(), items.begin(), items.end());
}

void PickleMachine::set_items(NodeId target, std::span<const NodeId> items) {
  PickleNode& dict = node(target);
  if (items.size() % 2 != 0) throw fail("pickle: a key has no value");
  if (dict.kind == NodeKind::opaque) return;
  if (dict.kind != NodeKind::dict)
    throw fail("pickle: sets items of what is no dict", ErrorCode::corrupt, {{"found", std::string(kind_name(dict.kind))}});
  charge(items.size());
  dict.items.insert(dict.items.end(), items.begin(), items.end());
}

void PickleMachine::push_global(std::string_view module, std::string_view name) {
  const auto shown = [](std::string_view text) { return std::string(text.substr(0, kMaxGlobalBytes)); };
  const std::string whole = shown(module) + "." + shown(name);
  const std::optional<GlobalRule> rule = module.size() > kMaxGlobalBytes || name.size() > kMaxGlobalBytes ? std::nullopt : find_global(whole);
  if (!rule) {
    throw fail("pickle: refused, a class or function that model files do not need; nothing of the file was executed", ErrorCode::unsupported,
               {{"global", whole}});
  }
  if (rule->use == GlobalUse::opaque) {
    push({.kind = NodeKind::opaque});
  } else {
    push({.kind = NodeKind::global, .text = rule->name});
  }
}

void PickleMachine::call(NodeId callable, NodeId arguments) {
  const PickleNode& function = node(callable);
  if (function.kind == NodeKind::opaque) return push({.kind = NodeKind::opaque});
  const PickleNode& args = node(arguments);
  if (function.kind != NodeKind::global || args.kind != NodeKind::tuple) {
    throw fail("pickle: refused, calls what is no function of the list; nothing of the file was executed", ErrorCode::unsupported,
               {{"callable", is_text(function) ? std::string(function.text.substr(0, kMaxGlobalBytes)) : std::string(kind_name(function.kind))}});
  }
  const std::optional<GlobalRule> rule = find_global(function.text);
  switch (rule ? rule->use : GlobalUse::name) {
    case GlobalUse::dict: {
      PickleNode dict{.kind = NodeKind::dict};
      if (!args.items.empty() && node(args.items[0]).kind == NodeKind::dict) dict.items = node(args.items[0]).items;
      if (!args.items.empty() && node(args.items[0]).kind == NodeKind::list) {
        for (const NodeId pair : node(args.items[0]).items) {
          const PickleNode& both = node(pair);
          if ((both.kind != NodeKind::tuple && both.kind != NodeKind::list) || both.items.size() != 2)
            throw fail("pickle: a dict is made of what are no pairs");
          dict.items.insert(dict.items.end(), both.items.begin(), both.items.end());
        }
      }
      return push(std::move(dict));
    }
    case GlobalUse::list: {
      const bool copy = args.items.size() == 1 && (node(args.items[0]).kind == NodeKind::list || node(args.items[0]).kind == NodeKind::tuple);
      const NodeKind kind = function.text == "torch.Size" || function.text.ends_with(".tuple") ? NodeKind::tuple : NodeKind::list;
      return push({.kind = kind, .items = copy ? node(args.items[0]).items : std::vector<NodeId>()});
    }
    case GlobalUse::call: {
      PickleNode made{.kind = NodeKind::call, .items = {callable}};
      made.items.insert(made.items.end(), args.items.begin(), args.items.end());
      return push(std::move(made));
    }
    default:
      throw fail("pickle: refused, calls what is no function of the list; nothing of the file was executed", ErrorCode::unsupported,
                 {{"callable", std::string(function.text)}});
  }
}

// A state is forgotten: that of a dict is attributes beside its items, that of a tensor or parameter attributes beside its values.
void PickleMachine::build(NodeId object) {
  const NodeKind kind = node(object).kind;
  if (kind == NodeKind::opaque || kind == NodeKind::dict || kind == NodeKind::call) return;
  throw fail("pickle: gives a state to what has none", ErrorCode::unsupported, {{"found", std::string(kind_name(kind))}});
}

void PickleMachine::put(uint64_t index) {
  charge(1);
  memo_[index] = top();
}

void PickleMachine::get(uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) throw fail("pickle: memo has no such entry", ErrorCode::corrupt, {{"entry", std::to_string(index)}});
  push(found->second);
}

uint64_t PickleMachine::line_index() {
  const std::string_view text = line();
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) throw fail("pickle: memo entry is no number");
  return index;
}

Error PickleMachine::fail(std::string text, ErrorCode code, Error::Context more) const {
  Error::Context context = {{"file", file_}};
  context.insert(context.end(), more.begin(), more.end());
  context.emplace_back("opcode", opcode_name(opcode_));
  context.emplace_back("byte", std::to_string(opcode_at_));
  return Error(code, std::move(text), std::move(context));
}

}  // namespace veneer::formats
