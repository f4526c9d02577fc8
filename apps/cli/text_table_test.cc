#include "text_table.h"

#include <gtest/gtest.h>

namespace veneer::cli {
namespace {

using Align = TextTable::Align;

TEST(TextTable, AlignsColumnsByTheirWidestCell) {
  TextTable table({Align::left, Align::right, Align::left});
  table.add({"name", "bytes", "place"});
  table.add({"a", "12345678", "file"});
  EXPECT_EQ(table.text(), "name     bytes  place\na     12345678  file\n");
}

TEST(TextTable, LeavesNoSpacesAtTheEndOfALine) {
  TextTable table({Align::left, Align::left});
  table.add({"a", "long"});
  table.add({"b", ""});
  table.add({"c"});
  EXPECT_EQ(table.text(2), "  a  long\n  b\n  c\n");
}

TEST(TextTable, CountsCharactersAndNotBytes) {
  TextTable table({Align::left, Align::left});
  table.add({"\xC3\xA9\xE2\x82\xAC", "x"});  // two characters of two and three bytes
  table.add({"ab", "y"});
  EXPECT_EQ(table.text(), "\xC3\xA9\xE2\x82\xAC  x\nab  y\n");
}

TEST(TextTable, WideCharactersTakeTwoColumns) {
  TextTable table({Align::left, Align::left});
  table.add({"\u6A21\u578B", "x"});
  table.add({"abcd", "y"});
  EXPECT_EQ(table.text(), "\u6A21\u578B  x\nabcd  y\n");
}

}  // namespace
}  // namespace veneer::cli
