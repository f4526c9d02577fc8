#include "text_table.h"

#include <algorithm>

#include "terminal_text.h"

namespace veneer::cli {

std::string TextTable::text(size_t indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < std::min(row.size(), widths.size()); ++i) widths[i] = std::max(widths[i], terminal_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      const std::string padding(widths[i] - terminal_width(row[i]), ' ');
      line += columns_[i] == Align::right ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace veneer::cli
