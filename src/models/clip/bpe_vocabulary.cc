#include "models/clip/bpe_vocabulary.h"

#include <zlib.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "models/clip/vocabulary_data.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr std::string_view kEndOfWord = "</w>";

// The first `lines` lines of a gzip text, without inflating the rest.
std::string inflate_lines(std::span<const std::byte> gzip, int lines) {
  if (gzip.size() > std::numeric_limits<uInt>::max()) throw Error(ErrorCode::corrupt, "vocabulary: file is too large");
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw Error(ErrorCode::no_memory, "vocabulary: zlib cannot start");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end_at_exit(&stream, &inflateEnd);
  // zlib's interface lacks const; it does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());

  constexpr size_t kStep = 64 * 1024;
  std::string text;
  int seen = 0;
  while (seen < lines) {
    const size_t begin = text.size();
    text.resize(begin + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + begin);
    stream.avail_out = static_cast<uInt>(kStep);
    const int state = inflate(&stream, Z_NO_FLUSH);
    text.resize(begin + kStep - stream.avail_out);
    if (state == Z_BUF_ERROR) throw Error(ErrorCode::corrupt, "vocabulary: gzip data ends early");
    if (state != Z_OK && state != Z_STREAM_END) throw Error(ErrorCode::corrupt, "vocabulary: damaged gzip data");
    for (size_t at = text.find('\n', begin); at != std::string::npos; at = text.find('\n', at + 1)) {
      if (++seen == lines) return text.substr(0, at);
    }
    if (state == Z_STREAM_END) break;
  }
  throw Error(ErrorCode::corrupt, "vocabulary: too few merges", {{"want lines", std::to_string(lines)}, {"got", std::to_string(seen)}});
}

// Names of tokens 0, 1, 2, ... and the way back from a name. A plain table in three blocks: half of the time of std::unordered_map here.
class TokenNames {
 public:
  explicit TokenNames(size_t text_bytes) : slots_(kSlots, 0) {
    text_.reserve(text_bytes);
    ends_.reserve(BpeVocabulary::kSize);
  }

  // The token called `name`, or -1.
  int32_t find(std::string_view name) const { return slots_[slot(name)] - 1; }

  // Gives the next token the name `left` + `right`, which no other may have.
  void add(std::string_view left, std::string_view right) {
    const size_t begin = text_.size();
    text_.append(left).append(right);
    const std::string_view name = std::string_view(text_).substr(begin);
    int32_t& entry = slots_[slot(name)];
    if (entry != 0) throw Error(ErrorCode::corrupt, "vocabulary: a token is defined twice", {{"token", std::string(name)}});
    ends_.push_back(static_cast<uint32_t>(text_.size()));
    entry = static_cast<int32_t>(ends_.size());
  }

  std::string_view name(int32_t token) const {
    const auto at = static_cast<size_t>(token);
    const uint32_t begin = at == 0 ? 0 : ends_[at - 1];
    return std::string_view(text_).substr(begin, ends_[at] - begin);
  }

 private:
  static constexpr size_t kSlots = 1U << 17;

  size_t slot(std::string_view wanted) const {
    size_t at = std::hash<std::string_view>()(wanted) % kSlots;
    while (slots_[at] != 0 && name(slots_[at] - 1) != wanted) at = (at + 1) % kSlots;
    return at;
  }

  std::string text_;            // all names, one behind the other
  std::vector<uint32_t> ends_;  // of each token's name
  std::vector<int32_t> slots_;  // token + 1, 0: empty
};

bool is_printable_byte(int byte) { return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174; }

void append_utf8(std::string& out, int code_point) {
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    out += static_cast<char>(0x80 | (code_point & 0x3F));
  }
}

// The symbol that stands for each byte token in the published text: printable bytes of Latin-1 first and as themselves, then the others as the
// characters from U+0100 on. bytes[token] is the byte.
void byte_symbols(std::array<std::string, 256>& symbols, std::array<int, 256>& bytes) {
  size_t token = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (!is_printable_byte(byte)) continue;
    bytes[token] = byte;
    append_utf8(symbols[token++], byte);
  }
  int stand_in = 256;
  for (int byte = 0; byte < 256; ++byte) {
    if (is_printable_byte(byte)) continue;
    bytes[token] = byte;
    append_utf8(symbols[token++], stand_in++);
  }
}

}  // namespace

std::shared_ptr<const BpeVocabulary> BpeVocabulary::clip() { return parse(clip_vocabulary_gzip()); }

std::shared_ptr<const BpeVocabulary> BpeVocabulary::parse(std::span<const std::byte> gzip) {
  const std::string text = inflate_lines(gzip, kNumMerges + 1);
  std::shared_ptr<BpeVocabulary> vocabulary(new BpeVocabulary());
  vocabulary->keys_.resize(kSlots);
  vocabulary->results_.resize(kSlots);

  TokenNames names(text.size() + 4096);
  std::array<std::string, 256> symbols;
  std::array<int, 256> bytes{};
  byte_symbols(symbols, bytes);
  for (const std::string_view suffix : {std::string_view(), kEndOfWord}) {
    for (const std::string& symbol : symbols) names.add(symbol, suffix);
  }
  for (size_t token = 0; token < 256; ++token) vocabulary->byte_tokens_[static_cast<size_t>(bytes[token])] = static_cast<int32_t>(token);

  std::string_view rest = text;
  rest.remove_prefix(rest.find('\n') + 1);
  for (int32_t token = kFirstMerge; token < kStartToken; ++token) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t space = line.find(' ');
    const int32_t left = names.find(line.substr(0, space));
    const int32_t right = space == std::string_view::npos ? -1 : names.find(line.substr(space + 1));
    if (left < 0 || right < 0) throw Error(ErrorCode::corrupt, "vocabulary: not a merge of known symbols", {{"line", std::string(line)}});
    vocabulary->add_merge(left, right, token);
    names.add(line.substr(0, space), line.substr(space + 1));
  }
  return vocabulary;
}

void BpeVocabulary::add_merge(int32_t left, int32_t right, int32_t token) {
  const uint32_t key = (static_cast<uint32_t>(left) << 16) | static_cast<uint32_t>(right);
  uint32_t slot = slot_of(key);
  while (results_[slot] != 0) slot = (slot + 1) % kSlots;
  keys_[slot] = key;
  results_[slot] = static_cast<uint16_t>(token);
}

int32_t BpeVocabulary::merged(int32_t left, int32_t right) const {
  const uint32_t key = (static_cast<uint32_t>(left) << 16) | static_cast<uint32_t>(right);
  for (uint32_t slot = slot_of(key); results_[slot] != 0; slot = (slot + 1) % kSlots) {
    if (keys_[slot] == key) return results_[slot];
  }
  return -1;
}

}  // namespace veneer::models
