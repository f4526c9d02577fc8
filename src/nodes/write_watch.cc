#include "nodes/write_watch.h"

#include <sys/inotify.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

namespace veneer::nodes {

std::shared_ptr<WriteWatch> WriteWatch::create() {
  return std::shared_ptr<WriteWatch>(new WriteWatch(formats::FileDescriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC))));
}

std::shared_ptr<const WriteWatch::Mark> WriteWatch::add(int fd) {
  std::shared_ptr<Mark> mark(new Mark(shared_from_this()));
  if (queue_.get() < 0) return mark;
  const std::lock_guard lock(mutex_);
  read_messages();  // those of marks that the file has already
  // The link leads to the file that is open, whatever its name stands for by now.
  const int id = ::inotify_add_watch(queue_.get(), ("/proc/self/fd/" + std::to_string(fd)).c_str(), IN_MODIFY | IN_CLOSE_WRITE);
  if (id < 0) return mark;
  marks_[id].push_back(mark.get());
  mark->id_ = id;
  return mark;
}

void WriteWatch::remove(const Mark& mark) {
  if (mark.id_ < 0) return;
  const std::lock_guard lock(mutex_);
  const auto at = marks_.find(mark.id_);
  if (at == marks_.end()) return;
  std::erase(at->second, &mark);
  if (!at->second.empty()) return;
  marks_.erase(at);
  ::inotify_rm_watch(queue_.get(), mark.id_);
}

void WriteWatch::take_message(int id, unsigned what) {
  if ((what & IN_Q_OVERFLOW) != 0) {
    for (const auto& [any, marks] : marks_) {
      for (Mark* mark : marks) mark->lost_ = true;
    }
    return;
  }
  const auto at = marks_.find(id);
  if (at == marks_.end()) return;
  for (Mark* mark : at->second) {
    if ((what & IN_MODIFY) != 0) mark->written_ = true;
    if ((what & IN_CLOSE_WRITE) != 0) mark->writer_closed_ = true;
    if ((what & IN_UNMOUNT) != 0) mark->lost_ = true;
  }
}

void WriteWatch::read_messages() {
  std::array<char, 16384> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
  while (true) {
    const ssize_t count = ::read(queue_.get(), bytes.data(), bytes.size());
    if (count <= 0) return;
    for (size_t at = 0; at + sizeof(inotify_event) <= static_cast<size_t>(count);) {
      inotify_event event = {};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      take_message(event.wd, event.mask);
      at += sizeof event + event.len;
    }
  }
}

WriteWatch::Mark::~Mark() { watch_->remove(*this); }

bool WriteWatch::Mark::written() const {
  const std::lock_guard lock(watch_->mutex_);
  watch_->read_messages();
  return written_;
}

bool WriteWatch::Mark::writer_closed() const {
  const std::lock_guard lock(watch_->mutex_);
  watch_->read_messages();
  return writer_closed_;
}

bool WriteWatch::Mark::sure() const { return id_ >= 0 && !lost_; }

}  // namespace veneer::nodes
