#include "formats/torch_tensors.h"

#include <array>
#include <charconv>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "formats/latin1.h"
#include "formats/safetensors_header.h"
#include "formats/torch_dtype.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

// Dicts in dicts. Real state dicts are flat; optimizers keep their state two or three levels deep.
constexpr size_t kMaxDepth = 16;
constexpr size_t kMaxMetadataBytes = 1024;
// A tensor that repeats its elements may not become larger than this and than the file.
constexpr uint64_t kSmallBytes = uint64_t{1} << 20;

class Reader {
 public:
  Reader(const PickleData& data, const StorageBytes& storage, const std::shared_ptr<const void>& owner, const std::string& file)
      : data_(data), storage_(storage), owner_(owner), file_(file) {}

  ModelContents read(NodeId root) {
    const PickleNode& top = data_[root];
    if (top.kind != NodeKind::dict) throw refused("torch: file holds no dict of tensors");
    const PickleNode* state = data_.find(top, "state_dict");
    if (state != nullptr && state->kind == NodeKind::dict) {
      walk(*state);
      read_metadata(top);
    } else {
      walk(top);
      read_metadata(top);
    }
    if (out_.tensors.empty()) throw refused("torch: file holds no tensor");
    return std::move(out_);
  }

 private:
  struct Level {
    const PickleNode* dict;
    size_t next = 0;
    size_t prefix_bytes = 0;  // of the name in front of this level's keys
  };

  // Depth first, in order. A container that was met before is passed over: dicts may hold themselves.
  void walk(const PickleNode& root) {
    std::string prefix;
    std::vector<Level> levels = {{&root}};
    std::unordered_set<const PickleNode*> seen = {&root};
    while (!levels.empty()) {
      Level& level = levels.back();
      prefix.resize(level.prefix_bytes);
      if (level.next + 1 >= level.dict->items.size()) {
        levels.pop_back();
        continue;
      }
      const PickleNode& key = data_[level.dict->items[level.next]];
      const PickleNode& value = data_[level.dict->items[level.next + 1]];
      level.next += 2;
      const bool named = key.kind == NodeKind::string || key.kind == NodeKind::integer;
      if (!named) continue;
      prefix += key.kind == NodeKind::string ? std::string(key.text) : std::to_string(key.integer);
      if (prefix.size() > kMaxTensorNameBytes) throw broken("torch: tensor name is too long", {{"most", std::to_string(kMaxTensorNameBytes)}});
      if (value.kind == NodeKind::call) {
        add(prefix, value);
      } else if (value.kind == NodeKind::dict && levels.size() < kMaxDepth && seen.insert(&value).second) {
        prefix += '.';
        levels.push_back({&value, 0, prefix.size()});
      }
    }
  }

  void add(const std::string& name, const PickleNode& call) {
    if (!is_utf8(name)) throw broken("torch: tensor name is not UTF-8", {});
    if (out_.tensors.size() == kMaxTensors) throw broken("torch: too many tensors", {{"most", std::to_string(kMaxTensors)}});
    name_ = name;
    StoredTensor tensor = rebuild(call);
    tensor.name = name;
    // A dict's later value for a key replaces the earlier.
    if (const auto [at, fresh] = places_.emplace(name, out_.tensors.size()); !fresh) {
      out_.tensors[at->second] = std::move(tensor);
    } else {
      out_.tensors.push_back(std::move(tensor));
    }
    name_.clear();
  }

  // Unwraps parameters and subclasses until the call that makes a tensor of a storage.
  StoredTensor rebuild(const PickleNode& call) const {
    const PickleNode* function = &data_[call.items[0]];
    std::span<const NodeId> args = std::span(call.items).subspan(1);
    for (size_t depth = 0; depth < kMaxDepth; ++depth) {
      const std::string_view name = function->text;
      if (name == "torch._tensor._rebuild_from_type_v2" && args.size() >= 3) {
        const PickleNode& inner = data_[args[2]];
        function = &data_[args[0]];
        if (function->kind != NodeKind::global || inner.kind != NodeKind::tuple) throw broken("torch: tensor is not made of its parts");
        args = inner.items;
      } else if (name.starts_with("torch._utils._rebuild_parameter") && !args.empty()) {
        const PickleNode& inner = data_[args[0]];
        if (inner.kind != NodeKind::call) throw broken("torch: parameter holds no tensor");
        function = &data_[inner.items[0]];
        args = std::span(inner.items).subspan(1);
      } else if (name == "torch._utils._rebuild_tensor" || name == "torch._utils._rebuild_tensor_v2" || name == "torch._utils._rebuild_tensor_v3") {
        return view(args, name.ends_with("_v3"));
      } else {
        break;
      }
    }
    throw broken("torch: tensor is not made of its parts");
  }

  // args: storage, offset, size, stride, ...; version 3 has the dtype as its seventh.
  StoredTensor view(std::span<const NodeId> args, bool has_dtype) const {
    if (args.size() < (has_dtype ? 7U : 4U) || data_[args[0]].kind != NodeKind::persistent) throw broken("torch: tensor is not made of its parts");
    const TorchStorage storage = torch_storage(data_, data_[args[0]], file_);
    std::optional<DType> dtype = storage.dtype;
    if (has_dtype) {
      const PickleNode& node = data_[args[6]];
      dtype = node.kind == NodeKind::global ? torch_dtype(node.text) : std::nullopt;
      if (!dtype) throw refused("torch: dtype is not supported");
    }
    if (!dtype) throw broken("torch: tensor has no dtype");
    const uint64_t offset = number(data_[args[1]]);
    const std::vector<int64_t> extents = numbers(data_[args[2]]), strides = numbers(data_[args[3]]);
    if (extents.size() != strides.size()) throw broken("torch: tensor has not as many strides as extents");
    if (extents.size() > Shape::kMaxRank) throw broken("torch: shape has too many dimensions", {{"most", std::to_string(Shape::kMaxRank)}});
    const std::span<const std::byte> bytes = storage_(storage);
    return placed(Shape(extents), strides, *dtype, bytes, offset);
  }

  StoredTensor placed(const Shape& shape, const std::vector<int64_t>& strides, DType dtype, std::span<const std::byte> bytes, uint64_t offset) const {
    const uint64_t size = size_of(dtype), held = bytes.size() / size;
    const uint64_t all = checked_mul(static_cast<uint64_t>(shape.num_elements()), size, "torch tensor");
    // The element that lies farthest.
    uint64_t last = offset;
    bool row_major = true;
    uint64_t expected = 1;
    for (size_t dim = shape.dims().size(); dim-- > 0;) {
      const auto extent = static_cast<uint64_t>(shape.dims()[dim]), stride = static_cast<uint64_t>(strides[dim]);
      if (extent != 1) row_major = row_major && stride == expected;
      if (extent > 0) last = checked_add(last, checked_mul(extent - 1, stride, "torch tensor"), "torch tensor");
      expected = checked_mul(expected, std::max<uint64_t>(extent, 1), "torch tensor");
    }
    if (shape.num_elements() == 0) return {.name = {}, .stored = Tensor::view(shape, dtype, bytes.data(), owner_)};
    if (last >= held) throw broken("torch: tensor leaves its storage", {{"last", std::to_string(last)}, {"elements", std::to_string(held)}});
    const std::byte* first = bytes.data() + offset * size;
    if (row_major) return {.name = {}, .stored = Tensor::view(shape, dtype, first, owner_)};
    if (all > std::max<uint64_t>(bytes.size(), kSmallBytes))
      throw broken("torch: tensor is larger than its storage", {{"bytes", std::to_string(all)}});
    return {.name = {},
            .stored = Tensor::view({static_cast<int64_t>(last - offset + 1)}, dtype, first, owner_),
            .layout = std::make_shared<const StridedLayout>(StridedLayout{shape, strides})};
  }

  uint64_t number(const PickleNode& node) const {
    if (node.kind != NodeKind::integer || node.integer < 0) throw broken("torch: extent, stride or offset is not a whole number");
    return static_cast<uint64_t>(node.integer);
  }

  std::vector<int64_t> numbers(const PickleNode& node) const {
    if (node.kind != NodeKind::tuple && node.kind != NodeKind::list) throw broken("torch: shape is not a tuple");
    if (node.items.size() > 64) throw broken("torch: shape has too many dimensions");
    std::vector<int64_t> out;
    for (const NodeId id : node.items) out.push_back(static_cast<int64_t>(number(data_[id])));
    return out;
  }

  // Numbers and short texts that lie beside the weights: epoch, global_step, name, ...
  void read_metadata(const PickleNode& top) {
    for (size_t i = 0; i + 1 < top.items.size(); i += 2) {
      const PickleNode &key = data_[top.items[i]], &value = data_[top.items[i + 1]];
      if (key.kind != NodeKind::string || key.text.size() > kMaxMetadataBytes || !is_utf8(key.text)) continue;
      if (value.kind == NodeKind::integer) {
        out_.metadata[std::string(key.text)] = std::to_string(value.integer);
      } else if (value.kind == NodeKind::boolean) {
        out_.metadata[std::string(key.text)] = value.integer != 0 ? "true" : "false";
      } else if (value.kind == NodeKind::real) {
        std::array<char, 32> text{};
        const auto end = std::to_chars(text.data(), text.data() + text.size(), value.real).ptr;
        out_.metadata[std::string(key.text)] = std::string(text.data(), end);
      } else if (value.kind == NodeKind::string && value.text.size() <= kMaxMetadataBytes && is_utf8(value.text)) {
        out_.metadata[std::string(key.text)] = std::string(value.text);
      }
    }
  }

  Error broken(const char* text, Error::Context more = {}) const {
    Error::Context context = {{"file", file_}};
    if (!name_.empty()) context.emplace_back("tensor", name_);
    context.insert(context.end(), more.begin(), more.end());
    return Error(ErrorCode::corrupt, text, std::move(context));
  }
  Error refused(const char* text) const {
    Error::Context context = {{"file", file_}};
    if (!name_.empty()) context.emplace_back("tensor", name_);
    return Error(ErrorCode::unsupported, text, std::move(context));
  }

  const PickleData& data_;
  const StorageBytes& storage_;
  const std::shared_ptr<const void>& owner_;
  const std::string& file_;
  ModelContents out_;
  std::map<std::string, size_t, std::less<>> places_;
  std::string name_;  // of the tensor being read
};

}  // namespace

ModelContents torch_contents(const PickleData& data, NodeId root, const StorageBytes& storage, const std::shared_ptr<const void>& owner,
                             const std::string& file) {
  return Reader(data, storage, owner, file).read(root);
}

}  // namespace veneer::formats
