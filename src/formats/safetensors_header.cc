#include "formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "veneer/error.h"

namespace veneer::formats {
namespace {

using nlohmann::json;

// Types of the format that no tensor of Veneer can hold.
constexpr std::array<std::string_view, 5> kForeignDTypes = {"F8_E8M0", "F4", "F6_E2M3", "F6_E3M2", "C64"};
constexpr size_t kMaxShownBytes = 64;

// Text from the file, short enough for an error; cut between characters.
std::string shown(std::string_view text) {
  if (text.size() <= kMaxShownBytes) return std::string(text);
  size_t end = kMaxShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// Turns the events of the JSON parser into entries. The header is a fixed three levels deep, so the reader is a small state machine and deeper
// nesting fails at its first bracket; nothing is built that the grammar does not have.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  HeaderReader(SafetensorsHeader& header, uint64_t data_bytes, std::string_view file) : header_(header), data_bytes_(data_bytes), file_(file) {}

  bool key(std::string& text) override {
    switch (state_) {
      case State::tensors: begin_member(text); return true;
      case State::metadata:
        if (header_.metadata.contains(text)) throw broken("safetensors: duplicate key in metadata", {{"key", shown(text)}});
        if (header_.metadata.size() == kMaxMetadataKeys) {
          throw broken("safetensors: too many keys in metadata", {{"most", std::to_string(kMaxMetadataKeys)}});
        }
        key_ = text;
        return true;
      default: begin_field(text); return true;
    }
  }

  bool start_object(std::size_t) override {
    if (state_ == State::start) {
      state_ = State::tensors;
    } else if (state_ == State::tensors) {
      state_ = in_metadata_ ? State::metadata : State::fields;
    } else {
      throw unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::fields) finish_tensor();
    state_ = state_ == State::tensors ? State::end : State::tensors;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ != State::fields || field_ == Field::dtype) throw unexpected("an array");
    state_ = State::numbers;
    return true;
  }

  bool end_array() override {
    if (field_ == Field::offsets && num_offsets_ != 2) throw broken("safetensors: data_offsets are not two numbers");
    state_ = State::fields;
    return true;
  }

  bool string(std::string& text) override {
    if (state_ == State::metadata) {
      text.shrink_to_fit();  // the parser's buffer may be twice as long
      header_.metadata.emplace(std::move(key_), std::move(text));
    } else if (state_ == State::fields && field_ == Field::dtype) {
      read_dtype(text);
    } else {
      throw unexpected("a string");
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::numbers) throw unexpected("a number");
    if (value > static_cast<uint64_t>(INT64_MAX)) throw broken("safetensors: number is too large", {{"value", std::to_string(value)}});
    if (field_ == Field::offsets) {
      if (num_offsets_ == 2) throw broken("safetensors: data_offsets are not two numbers");
      offsets_[num_offsets_++] = value;
    } else {
      if (rank_ == Shape::kMaxRank) throw broken("safetensors: shape has too many dimensions", {{"most", std::to_string(Shape::kMaxRank)}});
      dims_[rank_++] = static_cast<int64_t>(value);
    }
    return true;
  }

  // The parser reports an integer here only when it has a minus sign.
  bool number_integer(number_integer_t value) override {
    if (state_ != State::numbers) throw unexpected("a number");
    throw broken(field_ == Field::offsets ? "safetensors: negative offset" : "safetensors: negative extent", {{"value", std::to_string(value)}});
  }
  // ... and here when it has a fraction or exponent or does not fit 64 bits.
  bool number_float(number_float_t, const std::string& text) override {
    if (state_ != State::numbers) throw unexpected("a number");
    throw broken("safetensors: number is not a 64-bit integer", {{"value", shown(text)}});
  }
  bool null() override { throw unexpected("null"); }
  bool boolean(bool) override { throw unexpected("a boolean"); }
  bool binary(binary_t&) override { throw unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw broken("safetensors: header is not valid JSON", {{"byte", std::to_string(position)}});
  }

 private:
  enum class State { start, tensors, metadata, fields, numbers, end };
  enum class Field { dtype, shape, offsets };

  void begin_member(const std::string& text) {
    tensor_.clear();
    if (text.size() > kMaxTensorNameBytes) {
      throw broken("safetensors: tensor name is too long", {{"bytes", std::to_string(text.size())}, {"most", std::to_string(kMaxTensorNameBytes)}});
    }
    in_metadata_ = text == kMetadataKey;
    if (in_metadata_) {
      if (std::exchange(has_metadata_, true)) throw broken("safetensors: duplicate key", {{"tensor", text}});
      return;
    }
    if (header_.entries.size() == kMaxTensors) throw broken("safetensors: too many tensors", {{"most", std::to_string(kMaxTensors)}});
    tensor_ = text;
    has_ = {};
    rank_ = 0;
    num_offsets_ = 0;
  }

  void begin_field(std::string_view text) {
    if (text == "dtype") {
      field_ = Field::dtype;
    } else if (text == "shape") {
      field_ = Field::shape;
    } else if (text == "data_offsets") {
      field_ = Field::offsets;
    } else {
      throw broken("safetensors: unknown field", {{"field", shown(text)}});
    }
    bool& has = has_[static_cast<size_t>(field_)];
    if (has) throw broken("safetensors: duplicate key", {{"field", std::string(text)}});
    has = true;
  }

  void read_dtype(std::string_view text) {
    if (const std::optional<DType> dtype = dtype_of_safetensors_name(text)) {
      dtype_ = *dtype;
    } else if (std::ranges::find(kForeignDTypes, text) != kForeignDTypes.end()) {
      throw Error(ErrorCode::unsupported, "safetensors: dtype is not supported", context({{"dtype", std::string(text)}}));
    } else {
      throw broken("safetensors: unknown dtype", {{"dtype", shown(text)}});
    }
  }

  void finish_tensor() {
    constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};
    for (size_t i = 0; i < kFields.size(); ++i) {
      if (!has_[i]) throw broken("safetensors: field is missing", {{"field", std::string(kFields[i])}});
    }
    const Shape shape = checked_shape();
    const auto [begin, end] = offsets_;
    if (begin > end || end > data_bytes_) {
      throw broken(begin > end ? "safetensors: range ends before it begins" : "safetensors: range leaves the file",
                   {{"begin", std::to_string(begin)}, {"end", std::to_string(end)}, {"data_bytes", std::to_string(data_bytes_)}});
    }
    const uint64_t want = static_cast<uint64_t>(shape.num_elements()) * size_of(dtype_);
    if (end - begin != want) {
      throw broken("safetensors: range does not fit shape and dtype", {{"dtype", std::string(safetensors_dtype_name(dtype_))},
                                                                       {"shape", shape.to_string()},
                                                                       {"want", std::to_string(want)},
                                                                       {"got", std::to_string(end - begin)}});
    }
    header_.entries.push_back({std::exchange(tensor_, {}), dtype_, shape, begin, end});
  }

  // Zero extents are counted as one, so that products of any part of the shape are safe as well, whatever a view of an empty tensor multiplies.
  Shape checked_shape() const {
    const std::span<const int64_t> dims(dims_.data(), rank_);
    uint64_t product = size_of(dtype_);
    for (const int64_t extent : dims) {
      const uint64_t factor = std::max<uint64_t>(static_cast<uint64_t>(extent), 1);
      if (__builtin_mul_overflow(product, factor, &product) || product > static_cast<uint64_t>(INT64_MAX)) {
        std::string text;
        for (const int64_t dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
        throw broken("safetensors: size of the shape overflows", {{"shape", "[" + text + "]"}});
      }
    }
    return Shape(dims);
  }

  Error::Context context(Error::Context more) const {
    Error::Context all = {{"file", std::string(file_)}};
    if (!tensor_.empty()) all.emplace_back("tensor", tensor_);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Error broken(std::string text, Error::Context more = {}) const { return Error(ErrorCode::corrupt, std::move(text), context(std::move(more))); }
  Error unexpected(std::string what) const { return broken("safetensors: header has a value of the wrong type", {{"found", std::move(what)}}); }

  SafetensorsHeader& header_;
  uint64_t data_bytes_;
  std::string_view file_;
  State state_ = State::start;
  bool in_metadata_ = false, has_metadata_ = false;
  std::string key_;  // of the metadata entry being read

  // The tensor being read.
  std::string tensor_;
  Field field_ = Field::dtype;
  std::array<bool, 3> has_{};
  DType dtype_ = DType::u8;
  std::array<int64_t, Shape::kMaxRank> dims_{};
  size_t rank_ = 0;
  std::array<uint64_t, 2> offsets_{};
  size_t num_offsets_ = 0;
};

void check_names(const std::vector<SafetensorsEntry>& entries, std::string_view file) {
  std::unordered_set<std::string_view> names;
  names.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) {
    if (names.insert(entry.name).second) continue;
    throw Error(ErrorCode::corrupt, "safetensors: duplicate key", {{"file", std::string(file)}, {"tensor", entry.name}});
  }
}

// The ranges in order must follow each other from the first byte of the data to the last.
void check_tiling(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes, std::string_view file) {
  uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position) {
      throw Error(ErrorCode::corrupt, entry.begin < position ? "safetensors: ranges overlap" : "safetensors: hole before the range",
                  {{"file", std::string(file)}, {"tensor", entry.name}, {"begin", std::to_string(entry.begin)}, {"want", std::to_string(position)}});
    }
    position = entry.end;
  }
  if (position != data_bytes) {
    throw Error(ErrorCode::corrupt, "safetensors: bytes after the last tensor",
                {{"file", std::string(file)}, {"bytes", std::to_string(data_bytes - position)}});
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes, std::string_view file) {
  if (text.empty() || text.front() != '{') {
    throw Error(ErrorCode::corrupt, "safetensors: header does not begin with '{'", {{"file", std::string(file)}});
  }
  // The parser takes a zero byte for the end of its input; JSON has no place for one.
  if (text.find('\0') != std::string_view::npos) {
    throw Error(ErrorCode::corrupt, "safetensors: header is not valid JSON",
                {{"file", std::string(file)}, {"byte", std::to_string(text.find('\0') + 1)}});
  }
  SafetensorsHeader header;
  HeaderReader reader(header, data_bytes, file);
  json::sax_parse(text.begin(), text.end(), &reader);
  check_names(header.entries, file);
  std::ranges::stable_sort(header.entries, [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  check_tiling(header.entries, data_bytes, file);
  return header;
}

std::string safetensors_header_json(const std::vector<SafetensorsEntry>& entries, const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  const auto add = [&text](std::string_view key, const nlohmann::ordered_json& value) {
    if (text.size() > 1) text += ',';
    try {
      text += nlohmann::ordered_json(key).dump() + ':' + value.dump();
    } catch (const nlohmann::json::type_error&) {
      throw Error(ErrorCode::invalid, key == kMetadataKey ? "safetensors: metadata is not UTF-8" : "safetensors: tensor name is not UTF-8");
    }
  };
  if (!metadata.empty()) add(kMetadataKey, metadata);
  for (const SafetensorsEntry& entry : entries) {
    nlohmann::ordered_json value;
    value["dtype"] = safetensors_dtype_name(entry.dtype);
    value["shape"] = std::vector<int64_t>(entry.shape.dims().begin(), entry.shape.dims().end());
    value["data_offsets"] = {entry.begin, entry.end};
    add(entry.name, value);
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace veneer::formats
