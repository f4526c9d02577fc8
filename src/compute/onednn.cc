#include "compute/onednn.h"

#include <string>
#include <type_traits>
#include <unordered_map>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/parallel.h"
#include "veneer/error.h"

namespace veneer::compute::onednn {
namespace {

const dnnl::engine& engine() {
  static const dnnl::engine kCpu(dnnl::engine::kind::cpu, 0);
  return kCpu;
}

// oneDNN divides the work at compile time among the threads that it would get then.
class ThreadCap {
 public:
#ifdef _OPENMP
  explicit ThreadCap(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadCap() { omp_set_num_threads(before_); }
#else
  explicit ThreadCap(int) {}
  ~ThreadCap() = default;
#endif
  ThreadCap(const ThreadCap&) = delete;
  ThreadCap& operator=(const ThreadCap&) = delete;

 private:
#ifdef _OPENMP
  int before_;
#endif
};

void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(algorithm, alpha, 0.0F);
#else
  ops.append_eltwise(1.0F, algorithm, alpha, 0.0F);
#endif
}

void append_activation(dnnl::post_ops& ops, Activation activation) {
  switch (activation) {
    case Activation::none: return;
    case Activation::silu: append_eltwise(ops, dnnl::algorithm::eltwise_swish, 1.0F); return;
    case Activation::gelu: append_eltwise(ops, dnnl::algorithm::eltwise_gelu_erf, 0.0F); return;
    case Activation::quick_gelu: append_eltwise(ops, dnnl::algorithm::eltwise_swish, 1.702F); return;
  }
}

dnnl::primitive_attr attributes(const dnnl::post_ops& ops) {
  dnnl::primitive_attr attr;
  // f32 stays f32, whatever the environment asks for.
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(ops);
  return attr;
}

dnnl::matmul::primitive_desc describe(const MatmulDescs& d, const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), d.src, d.weights, d.bias, d.dst, attr, true};
#else
  return {dnnl::matmul::desc(d.src, d.weights, d.bias, d.dst), attr, engine(), true};
#endif
}

dnnl::convolution_forward::primitive_desc describe(const ConvDescs& d, const dnnl::primitive_attr& attr) {
  const dnnl::memory::dims strides = {d.geometry.stride, d.geometry.stride};
  const dnnl::memory::dims begin = {d.geometry.pad_top, d.geometry.pad_left};
  const dnnl::memory::dims end = {d.geometry.pad_bottom, d.geometry.pad_right};
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), kind, algorithm, d.src, d.weights, d.bias, d.dst, strides, begin, end, attr, true};
#else
  return {dnnl::convolution_forward::desc(kind, algorithm, d.src, d.weights, d.bias, d.dst, strides, begin, end), attr, engine(), true};
#endif
}

template <typename Descs>
bool try_describe(const Descs& descs, const dnnl::post_ops& ops, decltype(describe(descs, dnnl::primitive_attr()))& pd) {
  try {
    pd = describe(descs, attributes(ops));
  } catch (const dnnl::error&) {
    return false;
  }
  return static_cast<bool>(pd);
}

template <typename Descs>
Operation compile_any(const Descs& descs, const EpilogueSpec& epilogue, int threads, bool accumulate) {
  const ThreadCap cap(threads);
  dnnl::post_ops plain;
  append_activation(plain, epilogue.activation);
  if (accumulate) plain.append_sum(1.0F);
  decltype(describe(descs, dnnl::primitive_attr())) pd;
  if (!try_describe(descs, plain, pd)) {
    throw Error(ErrorCode::unsupported, "this machine cannot run the layer in its dtype", {{"layer", "matmul or convolution"}});
  }
  Operation operation;
  if (epilogue.residual) {
    dnnl::post_ops fused;
    append_activation(fused, epilogue.activation);
    fused.append_binary(dnnl::algorithm::binary_add, descs.dst);
    decltype(pd) candidate;
    // A post-op can push oneDNN off its fast kernels.
    if (try_describe(descs, fused, candidate) && std::string(candidate.impl_info_str()) == pd.impl_info_str()) {
      pd = candidate;
      operation.residual_fused = true;
      operation.residual_index = fused.len() - 1;
    }
  }
  operation.threads = threads;
  operation.implementation = pd.impl_info_str();
  operation.src = pd.src_desc();
  operation.weights = operation.layout = pd.weights_desc();
  operation.bias = descs.bias;
  operation.dst = pd.dst_desc();
  operation.scratchpad = pd.scratchpad_desc();
  operation.scratchpad_bytes = operation.scratchpad.get_size();
  using Primitive = std::conditional_t<std::is_same_v<Descs, ConvDescs>, dnnl::convolution_forward, dnnl::matmul>;
  operation.primitive = Primitive(pd);
  return operation;
}

bool is_bf16(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_data_type() == dnnl::memory::data_type::bf16;
#else
  return desc.data.data_type == dnnl_bf16;
#endif
}

dnnl::memory memory_at(const Desc& desc, const void* data) { return {desc, engine(), const_cast<void*>(data)}; }

}  // namespace

dnnl::memory::data_type data_type(DType dtype) {
  if (dtype == DType::f32) return dnnl::memory::data_type::f32;
  if (dtype == DType::bf16) return dnnl::memory::data_type::bf16;
  throw Error(ErrorCode::invalid, "compute dtype is neither f32 nor bf16", {{"dtype", std::string(to_string(dtype))}});
}

bool is_matrix(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_ndims() == 2;
#else
  return desc.data.ndims == 2;
#endif
}

std::optional<BlockedLayout> blocked_layout(const Desc& desc) {
  BlockedLayout layout;
#if DNNL_VERSION_MAJOR >= 3
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  layout.rank = desc.get_ndims();
  const dnnl::memory::dims extents = desc.get_dims(), padded = desc.get_padded_dims(), strides = desc.get_strides();
  const dnnl::memory::dims blocks = desc.get_inner_blks(), axes = desc.get_inner_idxs();
  const size_t inner = blocks.size();
#else
  if (desc.data.format_kind != dnnl_blocked || desc.data.extra.flags != 0) return std::nullopt;
  layout.rank = desc.data.ndims;
  const auto &extents = desc.data.dims, &padded = desc.data.padded_dims, &strides = desc.data.format_desc.blocking.strides;
  const auto &blocks = desc.data.format_desc.blocking.inner_blks, &axes = desc.data.format_desc.blocking.inner_idxs;
  const auto inner = static_cast<size_t>(desc.data.format_desc.blocking.inner_nblks);
#endif
  if (layout.rank > BlockedLayout::kMaxRank) return std::nullopt;
  for (size_t i = 0; i < inner; ++i) layout.inner.push_back({static_cast<int>(axes[i]), blocks[i]});
  uint64_t elements = 1;
  for (size_t i = 0; i < static_cast<size_t>(layout.rank); ++i) {
    layout.extents[i] = extents[i];
    layout.padded[i] = padded[i];
    layout.strides[i] = strides[i];
    elements *= static_cast<uint64_t>(padded[i]);
  }
  // More bytes than elements: sums for integers are appended.
  const bool wide = desc.get_size() != elements * (is_bf16(desc) ? sizeof(uint16_t) : sizeof(float));
  return wide ? std::nullopt : std::optional(layout);
}

int thread_count() { return num_threads(); }

Operation compile(const MatmulDescs& descs, const EpilogueSpec& epilogue, int threads, bool accumulate) {
  return compile_any(descs, epilogue, threads, accumulate);
}

Operation compile(const ConvDescs& descs, const EpilogueSpec& epilogue, int threads) { return compile_any(descs, epilogue, threads, false); }

void execute(const Operation& operation, const Arguments& arguments, Allocator& scratch) {
  std::shared_ptr<std::byte> block;
  if (operation.scratchpad_bytes != 0) block = scratch.allocate(operation.scratchpad_bytes);
  execute(operation, arguments, block.get());
}

void execute(const Operation& operation, const Arguments& arguments, void* scratchpad) {
  std::unordered_map<int, dnnl::memory> args;
  args.emplace(DNNL_ARG_SRC, memory_at(operation.src, arguments.src));
  if (arguments.weights != nullptr) args.emplace(DNNL_ARG_WEIGHTS, memory_at(operation.weights, arguments.weights));
  args.emplace(DNNL_ARG_DST, memory_at(operation.dst, arguments.dst));
  if (arguments.bias != nullptr) args.emplace(DNNL_ARG_BIAS, memory_at(operation.bias, arguments.bias));
  if (operation.scratchpad_bytes != 0) args.emplace(DNNL_ARG_SCRATCHPAD, memory_at(operation.scratchpad, scratchpad));
  if (operation.residual_fused) {
    args.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(operation.residual_index) | DNNL_ARG_SRC_1, memory_at(operation.dst, arguments.residual));
  }
  const ThreadCap cap(operation.threads);
  dnnl::stream stream(engine());
  operation.primitive.execute(stream, args);
  stream.wait();
}

Operation compile_reorder(const Desc& from, const Desc& to, int threads) {
  const ThreadCap cap(threads);
  const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, attributes(dnnl::post_ops()));
  Operation operation;
  operation.threads = threads;
  operation.implementation = pd.impl_info_str();
  operation.src = from;
  operation.dst = to;
  operation.scratchpad = pd.scratchpad_desc();
  operation.scratchpad_bytes = operation.scratchpad.get_size();
  operation.primitive = dnnl::reorder(pd);
  return operation;
}

void reorder(const Desc& from, const void* source, const Desc& to, void* target) {
  Arguments arguments;
  arguments.src = source;
  arguments.dst = target;
  execute(compile_reorder(from, to, thread_count()), arguments, system_allocator());
}

bool cap_isa(IsaCap cap) {
  if (cap == IsaCap::none) return true;
  dnnl::cpu_isa isa = dnnl::cpu_isa::sse41;
  if (cap == IsaCap::avx2) isa = dnnl::cpu_isa::avx2;
  if (cap == IsaCap::avx512) isa = dnnl::cpu_isa::avx512_core_vnni;
  if (cap == IsaCap::avx512_bf16) isa = dnnl::cpu_isa::avx512_core_bf16;
  return dnnl::set_max_cpu_isa(isa) == dnnl::status::success;
}

std::string version() {
  const dnnl::version_t* v = dnnl::version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

bool bf16_supported() {
  const auto type = dnnl::memory::data_type::bf16;
  const Desc square({32, 32}, type, Tag::ab);
  const ThreadCap cap(1);
  dnnl::matmul::primitive_desc pd;
  return try_describe(MatmulDescs{square, Desc({32, 32}, type, Tag::any), Desc(), square}, dnnl::post_ops(), pd);
}

namespace {

// The values are masks of features: each later instruction set contains the earlier ones' bits.
bool has(dnnl::cpu_isa isa) {
  const auto wanted = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

}  // namespace

bool amx_native() { return has(dnnl::cpu_isa::avx512_core_amx); }

bool bf16_native() { return amx_native() || has(dnnl::cpu_isa::avx512_core_bf16); }

}  // namespace veneer::compute::onednn
