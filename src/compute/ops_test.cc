// One table of cases: every op, on every instruction set of this machine, in f32 and bf16, against the reference.
#include "compute/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "compute/cpu.h"
#include "compute/kernel_isa.h"
#include "compute/reference/reference.h"
#include "compute/test_data.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

// A case's two sides. `fast` gets its activations through `arg`, which rounds them to the context's dtype; `slow` sees the same values in f32.
struct Case {
  std::string name;
  std::function<Tensor(Context&)> fast;
  std::function<Tensor(DType)> slow;
  double f32_bound = 1e-6;
  double bf16_bound = 5e-3;  // half a step of bf16's 8 bits, relative
};

Tensor as(const Tensor& x, DType dtype) { return to_dtype(x, dtype); }

void add_norms(std::vector<Case>& cases) {
  struct Group {
    Shape shape;
    int groups;
    bool silu, add;
    float centre;
  };
  for (const Group& g :
       {Group{{2, 8, 8, 320}, 32, true, true, 0}, Group{{1, 5, 7, 64}, 32, false, false, 3}, Group{{3, 1, 1, 32}, 32, true, false, 0},
        Group{{1, 64, 64, 40}, 8, true, false, 100}, Group{{1, 3, 3, 6}, 2, true, true, -1}, Group{{2, 300, 300, 1}, 1, false, false, 5},
        Group{{1, 2, 1, 70000}, 7, false, true, 0}, Group{{2, 9, 33}, 3, false, false, 0}}) {
    const int64_t n = g.shape[0], c = g.shape[g.shape.rank() - 1];
    const Tensor x = random_tensor(g.shape, 1, 1, g.centre), w = random_tensor({c}, 2), b = random_tensor({c}, 3), a = random_tensor({n, c}, 4);
    cases.push_back({"group_norm " + g.shape.to_string(),
                     [=](Context& context) {
                       const Tensor added = as(a, context.dtype);
                       return group_norm(context, as(x, context.dtype), w, b, g.groups, 1e-5F, g.silu, g.add ? &added : nullptr);
                     },
                     [=](DType dtype) {
                       const Tensor added = rounded(a, dtype);
                       return reference::group_norm(rounded(x, dtype), w, b, g.groups, 1e-5F, g.silu, g.add ? &added : nullptr);
                     },
                     g.centre > 50 ? 3e-5 : 4e-6, 6e-3});
  }
  for (const Shape& shape : {Shape{1, 77, 768}, Shape{2, 5, 320}, Shape{3, 7}, Shape{4, 1}, Shape{2, 3, 1283}}) {
    const int64_t c = shape[shape.rank() - 1];
    const Tensor x = random_tensor(shape, 1, 2, 1), w = random_tensor({c}, 2), b = random_tensor({c}, 3);
    cases.push_back({"layer_norm " + shape.to_string(), [=](Context& context) { return layer_norm(context, as(x, context.dtype), w, b, 1e-5F); },
                     [=](DType dtype) { return reference::layer_norm(rounded(x, dtype), w, b, 1e-5F); }, 4e-6, 6e-3});
  }
}

void add_elementwise(std::vector<Case>& cases) {
  for (const Shape& shape : {Shape{1}, Shape{3, 5, 7}, Shape{40000}, Shape{2, 16}}) {
    const Tensor x = random_tensor(shape, 1, 4), y = random_tensor(shape, 2, 4);
    cases.push_back({"add " + shape.to_string(), [=](Context& context) { return add(context, as(x, context.dtype), as(y, context.dtype)); },
                     [=](DType dtype) { return reference::add(rounded(x, dtype), rounded(y, dtype)); }});
    cases.push_back({"silu " + shape.to_string(), [=](Context& context) { return silu(context, as(x, context.dtype)); },
                     [=](DType dtype) { return reference::silu(rounded(x, dtype)); }});
    cases.push_back({"scale " + shape.to_string(), [=](Context& context) { return scale(context, as(x, context.dtype), -0.18215F); },
                     [=](DType dtype) { return reference::scale(rounded(x, dtype), -0.18215F); }});
  }
  for (const Shape& shape : {Shape{2, 77, 2560}, Shape{1, 2}, Shape{5, 74}, Shape{33, 130}}) {
    const Tensor x = random_tensor(shape, 1, 3);
    cases.push_back({"geglu " + shape.to_string(), [=](Context& context) { return geglu(context, as(x, context.dtype)); },
                     [=](DType dtype) { return reference::geglu(rounded(x, dtype)); }});
  }
  // The tails of both functions, where an approximation would show.
  Tensor wide = Tensor::empty({1, 40002}, DType::f32);
  for (int64_t i = 0; i < 20001; ++i) {
    wide.mutable_data<float>()[i] = 1.0F;
    wide.mutable_data<float>()[20001 + i] = static_cast<float>(i - 10000) * 0.01F;
  }
  cases.push_back({"gelu from -100 to 100", [=](Context& context) { return geglu(context, as(wide, context.dtype)); },
                   [=](DType dtype) { return reference::geglu(rounded(wide, dtype)); }, 3e-7});
  cases.push_back({"silu from -100 to 100", [=](Context& context) { return silu(context, as(wide, context.dtype)); },
                   [=](DType dtype) { return reference::silu(rounded(wide, dtype)); }, 3e-7});
}

void add_layouts(std::vector<Case>& cases) {
  for (const Shape& shape : {Shape{2, 4, 9, 7}, Shape{1, 3, 70, 66}, Shape{1, 1, 1, 1}, Shape{3, 40, 8, 8}}) {
    const Tensor x = random_tensor(shape, 1);
    cases.push_back({"to_nhwc " + shape.to_string(), [=](Context& context) { return to_nhwc(context, x, 0.5F); },
                     [=](DType dtype) { return rounded(reference::to_nhwc(x, 0.5F), dtype); }, 0, 0});
    cases.push_back({"to_nchw " + shape.to_string(), [=](Context& context) { return to_nchw_f32(context, as(x, context.dtype), 3.0F); },
                     [=](DType dtype) { return reference::to_nchw(rounded(x, dtype), 3.0F); }, 0, 0});
    cases.push_back({"upsample " + shape.to_string(),
                     [=](Context& context) { return upsample_nearest(context, as(x, context.dtype), 2 * shape[1], 2 * shape[2] + 1); },
                     [=](DType dtype) { return reference::upsample_nearest(rounded(x, dtype), 2 * shape[1], 2 * shape[2] + 1); }, 0, 0});
    const Tensor y = random_tensor(shape.with(3, 5), 2);
    cases.push_back({"concat " + shape.to_string(),
                     [=](Context& context) { return concat_channels(context, as(x, context.dtype), as(y, context.dtype)); },
                     [=](DType dtype) { return reference::concat_channels(rounded(x, dtype), rounded(y, dtype)); }, 0, 0});
  }
  const std::vector<float> times = {0.0F, 1.0F, 500.5F, 999.0F};
  for (const int dim : {320, 2, 33}) {
    cases.push_back({"timestep_embedding " + std::to_string(dim), [=](Context& context) { return timestep_embedding(context, times, dim); },
                     // The angle is rounded to f32, 999 at most.
                     [=](DType) { return reference::timestep_embedding(times, dim, 10000.0F); }, 2e-4, 5e-3});
  }
}

void add_attention(std::vector<Case>& cases) {
  struct Attention {
    int64_t n, tq, tk;
    AttentionShape shape;
    int64_t extra;  // channels of each row beyond what the heads use
  };
  for (const Attention& a : {Attention{2, 64, 77, {8, 40}, 0}, Attention{1, 77, 77, {12, 64, true}, 0}, Attention{1, 1, 1, {1, 8}, 0},
                             Attention{1, 300, 1100, {2, 16}, 5}, Attention{1, 130, 1, {1, 160}, 0}, Attention{2, 257, 513, {1, 40, true}, 3},
                             Attention{1, 600, 600, {1, 9, true, 0.3F}, 0}, Attention{1, 3, 2000, {1, 512}, 0}, Attention{3, 1, 154, {5, 80}, 1},
                             Attention{1, 33, 65, {2, 8, false, -2.0F}, 0}, Attention{1, 140, 70, {1, 1, true}, 0},
                             // Blocks of queries and tiles of keys that are full, that lack one and that have one more; the heads of known models.
                             Attention{1, 48, 128, {2, 64}, 0}, Attention{1, 192, 129, {1, 80}, 0}, Attention{1, 193, 127, {1, 96}, 1},
                             Attention{2, 15, 256, {1, 128}, 0}, Attention{1, 17, 257, {2, 160}, 3}, Attention{1, 97, 300, {1, 512}, 0},
                             Attention{1, 31, 140, {3, 20}, 0}, Attention{1, 500, 390, {1, 40, true}, 2}, Attention{1, 5, 300, {1, 3, true}, 0}}) {
    const int64_t width = a.shape.heads * a.shape.head_dim + a.extra;
    const Tensor q = random_tensor({a.n, a.tq, width}, 1), k = random_tensor({a.n, a.tk, 2 * width}, 2), v = random_tensor({a.n, a.tk, width}, 3);
    cases.push_back({"attention " + q.shape().to_string() + " " + k.shape().to_string(),
                     [=](Context& context) {
                       const Tensor fq = as(q, context.dtype), fk = as(k, context.dtype), fv = as(v, context.dtype);
                       return attention(context, {fq, a.extra}, {fk, width}, {fv, 0}, a.shape);
                     },
                     [=](DType dtype) {
                       const Tensor fq = rounded(q, dtype), fk = rounded(k, dtype), fv = rounded(v, dtype);
                       return reference::attention({fq, a.extra}, {fk, width}, {fv, 0}, a.shape);
                     },
                     5e-6, 1e-2});
  }
  struct Spread {
    std::string name;
    float spread, q_centre, k_centre;
    double bound;
  };
  for (const Spread& a : {Spread{"large scores", 20, 5, -5, 1e-3}, Spread{"scores of 10,000", 60, 0, 0, 2e-2},
                          Spread{"scores about -50,000", 1, 100, -90, 5e-2}, Spread{"scores about 50,000", 1, 100, 90, 5e-2}}) {
    const Tensor q = random_tensor({1, 200, 32}, 1, a.spread, a.q_centre), k = random_tensor({1, 700, 32}, 2, a.spread, a.k_centre);
    const Tensor v = random_tensor({1, 700, 32}, 3);
    cases.push_back({"attention of " + a.name,
                     [=](Context& context) {
                       const Tensor fq = as(q, context.dtype), fk = as(k, context.dtype), fv = as(v, context.dtype);
                       return attention(context, {fq}, {fk}, {fv}, {1, 32});
                     },
                     [=](DType dtype) {
                       const Tensor fq = rounded(q, dtype), fk = rounded(k, dtype), fv = rounded(v, dtype);
                       return reference::attention({fq}, {fk}, {fv}, {1, 32});
                     },
                     a.bound, std::max(a.bound, 1e-2)});
  }
  // Queries, keys and values side by side in one tensor.
  const Tensor qkv = random_tensor({2, 90, 3 * 80}, 4);
  cases.push_back({"attention of one tensor",
                   [=](Context& context) {
                     const Tensor x = as(qkv, context.dtype);
                     return attention(context, {x, 0}, {x, 80}, {x, 160}, {2, 40, true});
                   },
                   [=](DType dtype) {
                     const Tensor x = rounded(qkv, dtype);
                     return reference::attention({x, 0}, {x, 80}, {x, 160}, {2, 40, true});
                   },
                   5e-6, 1e-2});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_norms(cases);
  add_elementwise(cases);
  add_layouts(cases);
  add_attention(cases);
  return cases;
}

TEST(Ops, EqualTheReferenceOnEveryInstructionSetAndDtype) {
  for (const Case& c : all_cases()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      if (dtype == DType::bf16 && !bf16_supported()) continue;
      const Tensor want = c.slow(dtype);
      for (const std::string_view isa : runnable_kernel_isas()) {
        const KernelIsaGuard guard(isa);
        Context context{.dtype = dtype};
        const Tensor got = c.fast(context);
        EXPECT_LE(max_error(got, want), dtype == DType::f32 ? c.f32_bound : c.bf16_bound) << c.name << " in " << to_string(dtype) << " on " << isa;
      }
    }
  }
}

// Bits of every op in f32 with one thread and with several.
TEST(Ops, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = num_threads();
  for (const Case& c : all_cases()) {
    Context context;
    set_num_threads(1);
    const Tensor one = c.fast(context);
    set_num_threads(3);
    const Tensor three = c.fast(context);
    set_num_threads(before);
    EXPECT_EQ(std::memcmp(one.bytes(), three.bytes(), one.size_bytes()), 0) << c.name;
  }
}

TEST(Ops, NaNsAreNotSwallowed) {
  Tensor x = random_tensor({1, 2, 2, 64}, 1);
  x.mutable_data<float>()[70] = NAN;
  Context context;
  EXPECT_TRUE(std::isnan(silu(context, x).data<float>()[70]));
  EXPECT_TRUE(std::isnan(group_norm(context, x, random_tensor({64}, 1), random_tensor({64}, 1), 1, 1e-5F, true).data<float>()[0]));
  const Tensor tokens = x.reshape({1, 4, 64});
  EXPECT_TRUE(std::isnan(attention(context, {tokens}, {tokens}, {tokens}, {1, 64}).data<float>()[64]));
  Tensor gates = Tensor::zeros({1, 64}, DType::f32);
  gates.mutable_data<float>()[40] = NAN;
  EXPECT_TRUE(std::isnan(geglu(context, gates).data<float>()[8]));
  Context half{.dtype = DType::bf16};
  EXPECT_TRUE(std::isnan(to_f32(half, scale(half, to_dtype(x, DType::bf16), 1.0F)).data<float>()[70]));
}

TEST(Ops, InputsThatDoNotFitAreRefused) {
  Context context;
  const Tensor x = random_tensor({1, 2, 2, 6}, 1), c6 = random_tensor({6}, 1), c5 = random_tensor({5}, 1), half = to_dtype(x, DType::bf16);
  const Tensor short_add = random_tensor({2, 6}, 1);
  EXPECT_THROW(group_norm(context, x, c6, c6, 4, 1e-5F, false), Error);
  EXPECT_THROW(group_norm(context, x, c6, c6, 0, 1e-5F, false), Error);
  EXPECT_THROW(group_norm(context, x, c5, c6, 2, 1e-5F, false), Error);
  EXPECT_THROW(group_norm(context, x, c6, c6, 2, 1e-5F, false, &short_add), Error);
  EXPECT_THROW(group_norm(context, half, c6, c6, 2, 1e-5F, false), Error);
  EXPECT_THROW(layer_norm(context, x, c5, c6, 1e-5F), Error);
  EXPECT_THROW(geglu(context, random_tensor({2, 5}, 1)), Error);
  EXPECT_THROW(geglu(context, Tensor()), Error);
  EXPECT_THROW(add(context, x, x.reshape({4, 6})), Error);
  EXPECT_THROW(add(context, x, half), Error);
  EXPECT_THROW(concat_channels(context, x, random_tensor({1, 2, 3, 6}, 1)), Error);
  EXPECT_THROW(upsample_nearest(context, x, 0, 4), Error);
  EXPECT_THROW(to_nhwc(context, c6), Error);
  EXPECT_THROW(to_nchw_f32(context, c6), Error);
  EXPECT_THROW(timestep_embedding(context, {}, 1), Error);
}

TEST(Ops, AttentionRefusesOperandsThatDoNotFit) {
  Context context;
  const Tensor t = random_tensor({1, 4, 16}, 1), two = random_tensor({2, 4, 16}, 1), empty = Tensor::empty({1, 0, 16}, DType::f32);
  EXPECT_THROW(attention(context, {t}, {t}, {t}, {0, 8}), Error);
  EXPECT_THROW(attention(context, {t}, {t}, {t}, {3, 8}), Error);
  EXPECT_THROW(attention(context, {t, 1}, {t}, {t}, {2, 8}), Error);
  EXPECT_THROW(attention(context, {t, -1}, {t}, {t}, {1, 8}), Error);
  EXPECT_THROW(attention(context, {two}, {t}, {t}, {2, 8}), Error);
  EXPECT_THROW(attention(context, {t}, {t}, {random_tensor({1, 5, 16}, 1)}, {2, 8}), Error);
  EXPECT_THROW(attention(context, {t}, {empty}, {empty}, {2, 8}), Error);
  EXPECT_EQ(attention(context, {empty}, {t}, {t}, {2, 8}).shape(), Shape({1, 0, 16}));
}

TEST(Ops, ConversionsToTheSameDtypeShareTheBytes) {
  Context context;
  const Tensor x = random_tensor({4}, 1);
  EXPECT_EQ(to_compute(context, x).bytes(), x.bytes());
  EXPECT_EQ(to_f32(context, x).bytes(), x.bytes());
}

}  // namespace
}  // namespace veneer::compute
