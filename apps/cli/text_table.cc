#include "text_table.h"

#include <algorithm>

namespace veneer::cli {
namespace {

// Characters of a text in UTF-8: bytes that do not continue one.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string TextTable::text(size_t indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < std::min(row.size(), widths.size()); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      line += columns_[i] == Align::right ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace veneer::cli
