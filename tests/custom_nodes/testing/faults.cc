// Nodes that do what a plug-in must not, and what the host has to stand.
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "nodes.h"
#include "pictures.h"

namespace testing_pack {
namespace {

// Another number of outputs, other types, what is no exception, ...: by kind.
void misbehave(vp::Call& call) {
  const std::string_view kind = call.input("kind").text();
  if (kind == "too few") return;
  if (kind == "too many") {
    call.output(1);
    call.output(2);
  }
  if (kind == "wrong type") return call.output("text");
  if (kind == "null") return call.output(vp::Value());
  if (kind == "nan") return call.output(large_picture(call, std::numeric_limits<double>::quiet_NaN()));
  if (kind == "nan progress") call.progress(std::numeric_limits<double>::quiet_NaN(), 1.0);
  if (kind == "huge") return call.output(call.tensor("IMAGE", {int64_t{1} << 40, int64_t{1} << 20, 3, 3}));
  if (kind == "overflow") return call.output(call.tensor("IMAGE", {INT64_MAX, INT64_MAX, INT64_MAX, 3}));
  if (kind == "negative") return call.output(call.tensor("IMAGE", {1, -1, 4, 3}));
  if (kind == "shape") return call.output(call.tensor("IMAGE", {1, 4, 4, 7}));
  if (kind == "throw int") throw 42;
  if (kind == "bad text") throw std::runtime_error("bytes \xff\xfe");
  if (kind == "bad ui") call.ui({{"text", vp::Json("no list")}});
  if (kind == "blocker and output") {
    call.block_all();
    call.output(1);
  }
  if (kind == "made-up handle") call.output(vp::Value(call.place(), 12345));
  if (kind == "wrong place") call.need("kind");
  if (kind == "list for one") return call.output(call.list({call.make(1), call.make(2)}));
  call.output(large_picture(call, 1));
}

// What an earlier call left behind, to be used too late.
struct LeftBehind {
  std::mutex mutex;
  std::optional<vp::Call> call;
  vp::Value value;
};

void use_left_behind(vp::Call& call, LeftBehind& left) {
  const std::lock_guard lock(left.mutex);
  int refused = 0;
  if (left.call) {
    const auto attempt = [&](auto&& work) {
      try {
        work();
      } catch (const vp::Error& error) {
        refused += error.status() == VENEER_ENDED ? 1 : 0;
      }
    };
    attempt([&] { left.call->progress(int64_t{1}, int64_t{1}); });
    attempt([&] { static_cast<void>(left.value.integer()); });
    attempt([&] { call.output(left.value); });
  }
  left.call = call;
  left.value = call.make(1);
  call.output(refused);
}

// Progress, values and the output from a thread of its own.
void work_elsewhere(vp::Call& call) {
  std::exception_ptr failed;
  std::thread([&] {
    try {
      call.progress(int64_t{1}, int64_t{2});
      call.output(call.input("value"));
    } catch (...) {
      failed = std::current_exception();
    }
  }).join();
  if (failed) std::rethrow_exception(failed);
}

// An object of the pack's own; how many of them live is told by another node.
struct Counted {
  explicit Counted(std::shared_ptr<std::atomic<int>> living_) : living(std::move(living_)) { ++*living; }
  Counted(const Counted& other) : living(other.living) { ++*living; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*living; }
  std::shared_ptr<std::atomic<int>> living;
};

void add_objects(vp::Pack& pack) {
  const auto living = std::make_shared<std::atomic<int>>(0);
  const auto node = [](const std::string& name) { return vp::Node(name).category("Testing/Objects"); };
  pack.add(node("TestMakesObject").input(vp::integer("salt", 0)).output("TESTING_COUNTED").run([living](vp::Call& call) {
    call.output(call.object("TESTING_COUNTED", Counted(living)));
  }));
  pack.add(node("TestUsesObject").input(vp::socket("object", "TESTING_COUNTED")).output("INT").run([](vp::Call& call) {
    call.output(call.input("object").object<Counted>("TESTING_COUNTED").living->load());
  }));
  pack.add(node("TestLivingObjects").inputs({vp::socket("after", "*"), vp::integer("salt", 0)}).output_node().run([living](vp::Call& call) {
    call.ui({{"living", vp::Json::list({vp::Json(living->load())})}});
  }));
}

}  // namespace

void add_faults(vp::Pack& pack) {
  const auto node = [](const std::string& name) { return vp::Node(name).category("Testing/Faults"); };
  pack.add(node("TestMisbehaves").inputs({vp::text("kind"), vp::integer("salt", 0)}).output("IMAGE").run(misbehave));
  const auto left = std::make_shared<LeftBehind>();
  pack.add(node("TestUsesLeftBehind").input(vp::integer("salt", 0)).output("INT").run([left](vp::Call& call) { use_left_behind(call, *left); }));
  pack.add(node("TestWorksElsewhere").input(vp::socket("value", "*")).output("*").run(work_elsewhere));
  pack.add(node("TestLazyAsks")
               .inputs({vp::socket("value", "*").lazy(), vp::text("ask")})
               .output("*")
               .check_lazy([](vp::Call& call) {
                 call.need(call.input("ask").text());
                 call.need("value");
               })
               .run([](vp::Call& call) { call.output(call.input("value")); }));
  // Asks for one after the other.
  pack.add(node("TestLazySteps")
               .inputs({vp::socket("value1", "*").lazy(), vp::socket("value2", "*").lazy(), vp::socket("value3", "*").lazy()})
               .output("*")
               .check_lazy([](vp::Call& call) {
                 for (const char* name : {"value1", "value2", "value3"}) {
                   if (!call.has(name)) return call.need(name);
                 }
               })
               .run([](vp::Call& call) { call.output(call.input("value3")); }));
  pack.add(node("TestNoInputs").output_node().run([](vp::Call& call) { call.ui({{"text", vp::Json::list({vp::Json("ran")})}}); }));
  pack.add(node("TestOwnId").inputs({vp::socket("value", "*"), vp::unique_id()}).output("STRING").run([](vp::Call& call) {
    call.output(call.node_id());
  }));
  pack.add(node("TestNotIdempotent").input(vp::integer("value", 0)).output("INT").not_idempotent().run([](vp::Call& call) {
    call.output(call.input("value"));
  }));
  // Counts its runs as long as a node of its id stays in the graph.
  pack.add(node("TestRemembers").input(vp::integer("salt", 0)).output_node().run([](vp::Call& call) {
    int& count = call.state<int>();
    call.ui({{"count", vp::Json::list({vp::Json(++count)})}});
  }));
  add_objects(pack);
}

}  // namespace testing_pack
