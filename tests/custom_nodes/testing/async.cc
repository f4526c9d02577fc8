// Asynchronous nodes.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "nodes.h"
#include "pictures.h"
#include "sleeping.h"

namespace testing_pack {
namespace {

vp::Node node(const std::string& name, std::string_view shown) { return vp::Node(name).display_name(shown).category("experimental/async"); }
vp::Input any(const std::string& name) { return vp::socket(name, "*").with_options(); }

std::string as_number(double value) { return vp::Json(value).text(); }

// A check that takes its time, and then compares.
vp::Function checks(const std::string& first, const std::string& second, const std::string& text, const std::string& between) {
  return [=](vp::Call& call) {
    if (!call.has(first) || !call.has(second)) return;
    sleep_through(call, 0.05);
    const double a = call.input(first).number();
    const double b = call.input(second).number();
    if (a > b) call.refuse(text + as_number(a) + between + as_number(b));
  };
}

// What at most so many may hold at once.
class Slots {
 public:
  explicit Slots(int free) : free_(free) {}
  void take(const vp::Call& call) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(10), [&] { return free_ > 0; })) call.check_cancelled();
    --free_;
    most_ = std::max(most_, ++held_);
  }
  void give_back() {
    const std::lock_guard lock(mutex_);
    ++free_;
    --held_;
    changed_.notify_one();
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  int held_ = 0;
  int most_ = 0;
};

// Where calls wait for each other: `meet` returns once so many are inside at the same time.
class Meeting {
 public:
  void meet(const vp::Call& call, int64_t parties) {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    while (inside_ < parties) {
      changed_.wait_for(lock, std::chrono::milliseconds(5));
      if (!call.cancelled()) continue;
      --inside_;
      call.check_cancelled();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t inside_ = 0;
};

struct Resources {
  std::mutex mutex;
  std::set<std::string> taken;
};

void use_resource(vp::Call& call, Resources& resources) {
  const std::string name(call.input("resource_id").text());
  {
    const std::lock_guard lock(resources.mutex);
    if (!resources.taken.insert(name).second) throw std::runtime_error("Resource " + name + " is already in use!");
  }
  struct Release {
    Resources& resources;
    const std::string& name;
    ~Release() {
      const std::lock_guard lock(resources.mutex);
      resources.taken.erase(name);
    }
  } const release{resources, name};
  sleep_through(call, call.input("duration").number());
  call.output(call.input("value"));
}

void invert_batch(vp::Call& call) {
  const vp::TensorView images = call.input("images").tensor();
  vp::NewTensor out = call.tensor("IMAGE", shape_of(images));
  const int64_t count = images.dim(0);
  const size_t each = out.floats.size() / static_cast<size_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    sleep_through(call, call.input("process_time_per_item").number());
    const size_t begin = static_cast<size_t>(i) * each;
    for (size_t at = begin; at < begin + each; ++at) out.floats[at] = 1 - images.floats()[at];
    call.progress(i + 1, count);
  }
  call.output(out);
}

void add_limited(vp::Pack& pack) {
  const auto slots = std::make_shared<Slots>(2);
  pack.add(node("TestAsyncConcurrentLimit", "Test Async Concurrent Limit")
               .inputs({any("value"), vp::number("duration", 0.5).range(0.1, 2.0), vp::integer("node_id", 0)})
               .output("*")
               .asynchronous()
               .run([slots](vp::Call& call) {
                 slots->take(call);
                 struct GiveBack {
                   Slots& slots;
                   ~GiveBack() { slots.give_back(); }
                 } const give_back{*slots};
                 sleep_through(call, call.input("duration").number());
                 call.output(call.input("value"));
               }));
  // How many the limit has let in at once so far.
  pack.add(node("TestMostConcurrent", "Most Concurrent").inputs({any("value"), vp::integer("salt", 0)}).output_node().run([slots](vp::Call& call) {
    call.ui({{"most", vp::Json::list({vp::Json(slots->most())})}});
  }));
}

void add_meeting(vp::Pack& pack) {
  const auto meeting = std::make_shared<Meeting>();
  pack.add(node("TestMeeting", "Meeting")
               .inputs({any("value"), vp::integer("parties", 1).range(1, 9), vp::integer("salt", 0).optional()})
               .output("*")
               .asynchronous()
               .run([meeting](vp::Call& call) {
                 call.progress(int64_t{1}, int64_t{2});
                 meeting->meet(call, call.input("parties").integer());
                 call.output(call.input("value"));
               }));
  // The same, but the server's thread waits.
  pack.add(node("TestSyncMeeting", "Meeting On The Way")
               .inputs({any("value"), vp::integer("parties", 1).range(1, 9), vp::integer("salt", 0).optional()})
               .output("*")
               .run([meeting](vp::Call& call) {
                 meeting->meet(call, call.input("parties").integer());
                 call.output(call.input("value"));
               }));
}

void add_failing(vp::Pack& pack) {
  pack.add(node("TestAsyncError", "Test Async Error")
               .inputs({any("value"), vp::number("error_after", 0.1).range(0.0, 10.0)})
               .output("*")
               .asynchronous()
               .run([](vp::Call& call) {
                 sleep_through(call, call.input("error_after").number());
                 throw std::runtime_error("Intentional async execution error for testing");
               }));
  pack.add(node("TestSyncError", "Test Sync Error").input(any("value")).output("*").run([](vp::Call&) {
    throw std::runtime_error("Intentional sync execution error for testing");
  }));
  pack.add(node("TestAsyncTimeout", "Test Async Timeout")
               .inputs({any("value"), vp::number("timeout", 1).range(0.1, 10.0), vp::number("operation_time", 2).range(0.1, 10.0)})
               .output("*")
               .asynchronous()
               .run([](vp::Call& call) {
                 const double limit = call.input("timeout").number();
                 const double time = call.input("operation_time").number();
                 sleep_through(call, std::min(limit, time));
                 if (time > limit) throw std::runtime_error("Operation timed out after " + as_number(limit) + " seconds");
                 call.output(call.input("value"));
               }));
}

}  // namespace

void add_async(vp::Pack& pack) {
  pack.add(node("TestAsyncValidation", "Test Async Validation")
               .inputs({vp::number("value", 5), vp::number("threshold", 10)})
               .output("IMAGE")
               .validate({"value", "threshold"}, checks("value", "threshold", "Value ", " exceeds threshold "))
               .run([](vp::Call& call) { call.output(large_picture(call, call.input("value").number() / 10)); }));
  pack.add(node("TestAsyncValidationError", "Test Async Validation Error")
               .inputs({vp::number("value", 5), vp::number("max_value", 10)})
               .output("IMAGE")
               .validate({"value", "max_value"}, checks("value", "max_value", "Async validation failed: ", " > "))
               .run([](vp::Call& call) { call.output(large_picture(call, call.input("value").number() / call.input("max_value").number())); }));
  pack.add(node("TestAsyncLazyCheck", "Test Async Lazy Check")
               .inputs({any("input1").lazy(), any("input2").lazy(), vp::boolean("condition", true)})
               .output("IMAGE")
               .check_lazy([](vp::Call& call) {
                 sleep_through(call, 0.05);
                 const char* wanted = call.input("condition").boolean() ? "input1" : "input2";
                 if (!call.has(wanted)) call.need(wanted);
               })
               .run([](vp::Call& call) { call.output(large_picture(call, 1)); }));
  const auto resources = std::make_shared<Resources>();
  pack.add(node("TestAsyncResourceUser", "Test Async Resource User")
               .inputs({any("value"), vp::text("resource_id", "resource_0"), vp::number("duration", 0.1).range(0.0, 1.0)})
               .output("*")
               .asynchronous()
               .run([resources](vp::Call& call) { use_resource(call, *resources); }));
  pack.add(node("TestAsyncBatchProcessing", "Test Async Batch Processing")
               .inputs({vp::image("images"), vp::number("process_time_per_item", 0.1).range(0.01, 1.0), vp::unique_id()})
               .output("IMAGE")
               .asynchronous()
               .run(invert_batch));
  add_failing(pack);
  add_limited(pack);
  add_meeting(pack);
}

}  // namespace testing_pack
