#include "formats/shard_index.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "formats/safetensors_header.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

using nlohmann::json;

constexpr size_t kMaxShards = 4096;
constexpr size_t kMaxShardNameBytes = 255;

// A file beside the index, and nothing else. A control character has no place in a line of hashes.
bool is_plain_name(std::string_view name) {
  const auto refused = [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return !name.empty() && name.size() <= kMaxShardNameBytes && name != "." && name != ".." && std::ranges::none_of(name, refused);
}

// Takes the weight_map out of the events of the JSON parser and passes over whatever else there is; nothing but the map is kept.
class IndexReader : public nlohmann::json_sax<json> {
 public:
  IndexReader(ShardIndex& out, const std::string& file) : out_(out), file_(file) {}

  bool key(std::string& text) override {
    if (depth_ == 1) {
      at_map_ = text == "weight_map";
      if (at_map_ && std::exchange(has_map_, true)) throw broken("safetensors index: weight_map is there twice");
    } else if (in_map_) {
      begin_member(text);
    }
    return true;
  }
  bool string(std::string& text) override {
    if (!in_map_) return other();
    if (!is_plain_name(text)) throw broken("safetensors index: shard is not the name of a file beside the index");
    const auto [at, is_new] = numbers_.try_emplace(text, out_.shards.size());
    if (is_new) {
      if (out_.shards.size() == kMaxShards) throw broken("safetensors index: too many shards");
      out_.shards.push_back(text);
    }
    out_.tensors.push_back({std::exchange(tensor_, {}), at->second});
    return true;
  }
  bool start_object(std::size_t) override {
    if (in_map_) return other();
    if (depth_++ == 1 && at_map_) in_map_ = true;
    return true;
  }
  bool end_object() override {
    --depth_;
    in_map_ = at_map_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    other();
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_unsigned(number_unsigned_t) override { return other(); }
  bool number_float(number_float_t, const std::string&) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    tensor_.clear();
    throw broken("safetensors index: no JSON object with a weight_map");
  }

  bool has_map() const { return has_map_; }
  Error broken(const char* text) const {
    Error::Context context = {{"file", file_}};
    if (!tensor_.empty()) context.emplace_back("tensor", tensor_);
    return {ErrorCode::corrupt, text, std::move(context)};
  }

 private:
  // A value that is neither the map nor the name of a shard.
  bool other() const {
    if (in_map_) throw broken("safetensors index: shard is not the name of a file beside the index");
    if (depth_ == 0 || (depth_ == 1 && at_map_)) throw broken("safetensors index: no JSON object with a weight_map");
    return true;
  }

  void begin_member(std::string& text) {
    if (text.size() > kMaxTensorNameBytes) throw broken("safetensors index: tensor name is too long");
    if (out_.tensors.size() == kMaxTensors) throw broken("safetensors index: too many tensors");
    tensor_ = std::move(text);
  }

  ShardIndex& out_;
  const std::string& file_;
  std::unordered_map<std::string, size_t> numbers_;  // shard -> which
  std::string tensor_;                               // being read
  size_t depth_ = 0;
  bool at_map_ = false, in_map_ = false, has_map_ = false;
};

void check_names(const ShardIndex& index, const std::string& file) {
  std::unordered_set<std::string_view> names;
  names.reserve(index.tensors.size());
  for (const ShardIndex::Member& member : index.tensors) {
    if (names.insert(member.tensor).second) continue;
    throw Error(ErrorCode::corrupt, "safetensors index: tensor is there twice", {{"file", file}, {"tensor", member.tensor}});
  }
}

void sort_shards(ShardIndex& index) {
  std::vector<size_t> order(index.shards.size()), place(index.shards.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) -> const std::string& { return index.shards[i]; });
  std::vector<std::string> sorted;
  for (const size_t i : order) {
    place[i] = sorted.size();
    sorted.push_back(std::move(index.shards[i]));
  }
  index.shards = std::move(sorted);
  for (ShardIndex::Member& member : index.tensors) member.shard = place[member.shard];
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text, const std::string& file) {
  if (text.size() > kMaxIndexBytes) {
    throw Error(ErrorCode::corrupt, "safetensors index: file is too long", {{"file", file}, {"most", std::to_string(kMaxIndexBytes)}});
  }
  ShardIndex out;
  IndexReader reader(out, file);
  // The parser takes a zero byte for the end of its input.
  if (text.find('\0') == std::string_view::npos) json::sax_parse(text.begin(), text.end(), &reader);
  if (!reader.has_map()) throw reader.broken("safetensors index: no JSON object with a weight_map");
  if (out.tensors.empty()) throw reader.broken("safetensors index: weight_map names no tensor");
  check_names(out, file);
  sort_shards(out);
  return out;
}

bool is_index_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return name.size() > kIndexEnding.size() && std::ranges::equal(name.substr(name.size() - kIndexEnding.size()), kIndexEnding, {}, lower);
}

}  // namespace veneer::formats
