// CLIP's text clean-up before it is cut into words.
#pragma once

#include <string>
#include <string_view>

namespace veneer::models {

// Drops control and unassigned characters and U+FFFD, sets CJK ideographs apart with spaces, applies NFC, lower-cases, and leaves single spaces
// between words and none at the ends. This is what transformers 4's CLIPTokenizer does when ftfy is not installed. Linear in the text.
std::u32string clean_text(std::string_view utf8);

}  // namespace veneer::models
