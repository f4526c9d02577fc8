// The opcodes of a pickle that make numbers and texts.
#include <bit>
#include <charconv>

#include "formats/pickle_machine.h"

namespace veneer::formats {
namespace {

constexpr size_t kMaxLineBytes = 65'536;
// Digits of an integer as text; torch writes at most twenty.
constexpr size_t kMaxLongBytes = 1024;

}  // namespace

bool PickleMachine::number_opcode(uint8_t opcode) {
  const auto integer = [this](int64_t value) { push({.kind = NodeKind::integer, .integer = value}); };
  switch (opcode) {
    case 'N': push({.kind = NodeKind::none}); return true;
    case 0x88:
    case 0x89: push({.kind = NodeKind::boolean, .integer = opcode == 0x88 ? 1 : 0}); return true;
    case 'K': integer(reader_.u8()); return true;
    case 'M': integer(reader_.u16()); return true;
    case 'J': integer(static_cast<int32_t>(reader_.u32())); return true;
    case 0x8a: push_long(reader_.text(reader_.u8())); return true;
    case 0x8b: push_long(reader_.text(reader_.u32())); return true;
    case 'I': push_line_number(false); return true;
    case 'L': push_line_number(true); return true;
    case 'G': {  // BINFLOAT: big-endian
      uint64_t bits = 0;
      for (const std::byte b : reader_.take(8)) bits = (bits << 8) | std::to_integer<uint64_t>(b);
      push({.kind = NodeKind::real, .real = std::bit_cast<double>(bits)});
      return true;
    }
    case 'F': {
      const std::string_view text = line();
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) throw fail("pickle: text is no number");
      push({.kind = NodeKind::real, .real = value});
      return true;
    }
    default: return false;
  }
}

bool PickleMachine::text_opcode(uint8_t opcode) {
  switch (opcode) {
    case 0x8c: push_text(NodeKind::string, reader_.text(reader_.u8())); return true;
    case 'X': push_text(NodeKind::string, reader_.text(reader_.u32())); return true;
    case 0x8d: push_text(NodeKind::string, reader_.text(reader_.u64())); return true;
    case 'U': push_text(NodeKind::string, reader_.text(reader_.u8())); return true;   // SHORT_BINSTRING: Python 2's
    case 'T': push_text(NodeKind::string, reader_.text(reader_.u32())); return true;  // BINSTRING
    case 'C': push_text(NodeKind::bytes, reader_.text(reader_.u8())); return true;
    case 'B': push_text(NodeKind::bytes, reader_.text(reader_.u32())); return true;
    case 0x8e:
    case 0x96: push_text(NodeKind::bytes, reader_.text(reader_.u64())); return true;
    case 'S': push_text(NodeKind::string, quoted_line()); return true;
    case 'V': {
      const std::string_view text = line();
      if (text.find('\\') != std::string_view::npos) throw fail("pickle: escape in a text is not supported", ErrorCode::unsupported);
      push_text(NodeKind::string, text);
      return true;
    }
    default: return false;
  }
}

void PickleMachine::push_text(NodeKind kind, std::string_view text) { push({.kind = kind, .text = text}); }

void PickleMachine::push_long(std::string_view bytes) {
  if (bytes.size() > kMaxLongBytes) throw fail("pickle: integer is too long");
  if (bytes.size() > sizeof(int64_t)) return push({.kind = NodeKind::big_integer, .text = bytes});
  uint64_t value = bytes.empty() || static_cast<int8_t>(bytes.back()) >= 0 ? 0 : ~uint64_t{0};
  for (size_t i = bytes.size(); i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  push({.kind = NodeKind::integer, .integer = static_cast<int64_t>(value)});
}

void PickleMachine::push_line_number(bool is_long) {
  std::string_view text = line();
  // Booleans of protocol 1.
  if (!is_long && (text == "00" || text == "01")) return push({.kind = NodeKind::boolean, .integer = text == "01" ? 1 : 0});
  if (is_long && text.ends_with('L')) text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty() || error == std::errc::invalid_argument) throw fail("pickle: text is no number");
  if (error == std::errc::result_out_of_range) return push({.kind = NodeKind::big_integer, .text = text});
  push({.kind = NodeKind::integer, .integer = value});
}

std::string_view PickleMachine::line() {
  ByteReader ahead = reader_;
  size_t size = 0;
  while (ahead.u8() != '\n') {
    if (++size > kMaxLineBytes) throw fail("pickle: line is too long");
  }
  const std::string_view text = reader_.text(size);
  (void)reader_.u8();
  return text;
}

std::string_view PickleMachine::quoted_line() {
  const std::string_view text = line();
  if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"')) throw fail("pickle: string has no quotes");
  if (text.find('\\') != std::string_view::npos) throw fail("pickle: escape in a text is not supported", ErrorCode::unsupported);
  return text.substr(1, text.size() - 2);
}

}  // namespace veneer::formats
