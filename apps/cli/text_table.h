// Text in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace veneer::cli {

// Columns are as wide as their widest cell, with two spaces between them; nothing follows the last cell of a row.
class TextTable {
 public:
  enum class Align { left, right };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns, or fewer. Without line ends and control characters: see terminal_text.h.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // A line for each row, behind `indent` spaces.
  std::string text(size_t indent = 0) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace veneer::cli
