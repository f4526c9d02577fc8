#include "base/profile.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace veneer {

std::string_view to_string(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::op: return "op";
    case ProfileKind::prepare: return "prepare";
    case ProfileKind::network: return "network";
    case ProfileKind::step: return "step";
    case ProfileKind::preview: return "preview";
    case ProfileKind::node: return "node";
  }
  return "op";
}

int64_t Profile::this_thread() { return static_cast<int64_t>(::syscall(SYS_gettid)); }

void Profile::add(ProfileEvent event) noexcept {
  const std::lock_guard lock(mutex_);
  if (events_.size() >= kMostEvents) {
    ++dropped_;
    return;
  }
  try {
    events_.push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    ++dropped_;
  }
}

int64_t Profile::add_until_now(ProfileKind kind, std::string_view name, std::string shape, int64_t begin_ns) {
  ProfileEvent event;
  event.kind = kind;
  event.name = name;
  event.work.shape = std::move(shape);
  event.begin_ns = begin_ns;
  event.thread = this_thread();
  const int64_t end = event.end_ns = now_ns();
  add(std::move(event));
  return end;
}

std::vector<ProfileEvent> Profile::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

uint64_t Profile::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void ProfileSpan::begin(ProfileKind kind, std::string_view name, ProfileWork work) {
  event_.emplace();
  event_->kind = kind;
  event_->name = name;
  event_->work = std::move(work);
  event_->thread = Profile::this_thread();
  event_->begin_ns = profile_->now_ns();
}

void ProfileSpan::end() noexcept {
  event_->end_ns = profile_->now_ns();
  if (event_->end_ns - event_->begin_ns >= least_ns_) profile_->add(std::move(*event_));
}

}  // namespace veneer
