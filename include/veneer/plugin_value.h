// Values in a plug-in: what travels along the edges of a graph, seen through the host's table. Handles last as long as the call.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "veneer/plugin_abi.h"

namespace veneer::plugin {

// A failure of a node or of a function of the host. `status` is a VeneerStatus and decides how clients see it: VENEER_INVALID is a ValueError, ...
class Error : public std::runtime_error {
 public:
  Error(int32_t status, const std::string& reason) : std::runtime_error(reason), status_(status) {}
  int32_t status() const { return status_; }

 private:
  int32_t status_;
};

namespace detail {

inline VeneerText abi(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view(VeneerText text) { return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.length); }

// Where functions of the host are called.
struct Place {
  const VeneerHost* host;
  VeneerCall call;

  // Throws Error with the host's reason unless the status is VENEER_OK.
  void check(int32_t status) const {
    if (status == VENEER_OK) return;
    if (status == VENEER_NO_MEMORY) throw std::bad_alloc();
    const std::string reason(view(host->last_error(host->self, call)));
    throw Error(status, !reason.empty() ? reason : status == VENEER_ENDED ? "the call has ended" : "the host refused");
  }
  // The result of a function whose last argument is where it writes.
  template <typename T, typename Function, typename... Arguments>
  T get(Function function, Arguments... arguments) const {
    T out{};
    check(function(host->self, call, arguments..., &out));
    return out;
  }
};

}  // namespace detail

// A tensor that belongs to somebody else: read-only, row-major.
class TensorView {
 public:
  explicit TensorView(const VeneerTensor& tensor) : tensor_(tensor) {}
  int32_t dtype() const { return tensor_.dtype; }
  std::span<const int64_t> shape() const { return {tensor_.dims, static_cast<size_t>(tensor_.rank)}; }
  int64_t dim(size_t index) const { return index < static_cast<size_t>(tensor_.rank) ? tensor_.dims[index] : 1; }
  std::span<const float> floats() const {
    if (tensor_.dtype != VENEER_F32) throw Error(VENEER_INVALID, "the tensor is not f32");
    return {static_cast<const float*>(tensor_.data), tensor_.size_bytes / sizeof(float)};
  }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(tensor_.data), tensor_.size_bytes}; }

 private:
  VeneerTensor tensor_;
};

class Value {
 public:
  Value() = default;  // none
  Value(detail::Place place, VeneerValue handle) : place_(place), handle_(handle) {}

  VeneerValue handle() const { return handle_; }
  bool is_none() const { return handle_ == 0; }
  explicit operator bool() const { return handle_ != 0; }
  int32_t kind() const { return is_none() ? static_cast<int32_t>(VENEER_KIND_NONE) : place_.get<int32_t>(place_.host->value_kind, handle_); }
  bool is_list() const { return kind() == VENEER_KIND_LIST; }
  bool is_tensor() const { return kind() == VENEER_KIND_TENSOR; }
  bool is_blocker() const { return kind() == VENEER_KIND_BLOCKER; }
  // "INT", "IMAGE", ...
  std::string_view type() const { return is_none() ? "NONE" : detail::view(place_.get<VeneerText>(place_.host->value_type, handle_)); }

  // Each throws Error for a value of another kind; numbers convert (a fraction is cut off, true is 1).
  int64_t integer() const { return there().get<int64_t>(place_.host->as_integer, handle_); }
  uint64_t unsigned_integer() const { return there().get<uint64_t>(place_.host->as_unsigned, handle_); }
  double number() const { return there().get<double>(place_.host->as_number, handle_); }
  bool boolean() const { return there().get<int32_t>(place_.host->as_boolean, handle_) != 0; }
  // Valid until the call returns.
  std::string_view text() const { return detail::view(there().get<VeneerText>(place_.host->as_text, handle_)); }
  std::string_view json() const { return detail::view(there().get<VeneerText>(place_.host->as_json, handle_)); }
  TensorView tensor() const { return TensorView(there().get<VeneerTensor>(place_.host->as_tensor, handle_)); }
  size_t length() const { return there().get<size_t>(place_.host->list_length, handle_); }
  Value operator[](size_t index) const { return {place_, there().get<VeneerValue>(place_.host->list_item, handle_, index)}; }
  // An object of this plug-in that was made by Call::object<T>(type, ...).
  template <typename T>
  const T& object(std::string_view type) const {
    return *static_cast<const T*>(there().get<void*>(place_.host->as_object, handle_, detail::abi(type)));
  }

 private:
  const detail::Place& there() const {
    if (is_none()) throw Error(VENEER_INVALID, "an input is missing");
    return place_;
  }

  detail::Place place_{nullptr, 0};
  VeneerValue handle_ = 0;
};

// A tensor in the making. It becomes read-only when the call returns.
struct NewTensor {
  Value value;
  std::span<float> floats;     // empty for other dtypes than f32
  std::span<std::byte> bytes;  // all of it
};

}  // namespace veneer::plugin
