// Where the time of a run goes: spans of work with their shapes, gathered in one place.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veneer {

enum class ProfileKind : uint8_t {
  op,       // one op of the compute room
  prepare,  // compiling an operation and packing its weights
  network,  // one evaluation of a network
  step,     // one step of a sampler
  preview,  // what a step shows
  node,     // one node of a workflow
};
std::string_view to_string(ProfileKind kind);

// What a span worked on.
struct ProfileWork {
  std::string shape;       // for people: "[2, 4096, 320] -> 320"
  std::string_view dtype;  // of static storage; empty for none
  double flops = 0;        // 2 per multiply-add; of matrix work alone
  double bytes = 0;        // that have to be read and written
};

struct ProfileEvent {
  ProfileKind kind = ProfileKind::op;
  std::string name;
  ProfileWork work;
  int64_t begin_ns = 0, end_ns = 0;  // since the profile was made
  int64_t thread = 0;                // as the system numbers it
};

// Thread-safe. Spans of one thread lie within each other or apart.
class Profile {
 public:
  static constexpr size_t kMostEvents = size_t{1} << 21;

  int64_t now_ns() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count(); }
  // The number that events of the calling thread bear.
  static int64_t this_thread();

  // Beyond kMostEvents, and where there is no memory, events are counted and dropped.
  void add(ProfileEvent event) noexcept;
  // An event of the calling thread that ends now. Returns its end.
  int64_t add_until_now(ProfileKind kind, std::string_view name, std::string shape, int64_t begin_ns);
  // The events so far, in the order in which they ended; they are forgotten here.
  std::vector<ProfileEvent> take();
  uint64_t dropped() const;

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::vector<ProfileEvent> events_;
  uint64_t dropped_ = 0;
};

// A span from its construction to its end. Without a profile it does nothing, and `describe` is not called.
class [[nodiscard]] ProfileSpan {
 public:
  ProfileSpan(Profile* profile, ProfileKind kind, std::string_view name) : ProfileSpan(profile, kind, name, [] { return ProfileWork(); }) {}
  // describe: () -> ProfileWork. A span below `least_ns` is left out.
  template <typename Describe>
  ProfileSpan(Profile* profile, ProfileKind kind, std::string_view name, const Describe& describe, int64_t least_ns = 0)
      : profile_(profile), least_ns_(least_ns) {
    if (profile != nullptr) begin(kind, name, describe());
  }
  ~ProfileSpan() {
    if (profile_ != nullptr) end();
  }
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

 private:
  void begin(ProfileKind kind, std::string_view name, ProfileWork work);
  void end() noexcept;

  Profile* profile_;
  int64_t least_ns_;
  std::optional<ProfileEvent> event_;
};

}  // namespace veneer
