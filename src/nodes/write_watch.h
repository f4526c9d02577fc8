// WriteWatch: which open files are written to, as the kernel tells it.
//
// The times of a file do not tell: the one of its content can be set back by whoever wrote, and the one of its inode also changes when a file is
// renamed, linked, unlinked, or gets other rights. inotify tells of writes and of nothing else.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "formats/file_descriptor.h"

namespace veneer::nodes {

// All members may be called from any thread. Writes by other machines to a file on a network are not seen.
class WriteWatch : public std::enable_shared_from_this<WriteWatch> {
 public:
  // Where the kernel gives no watch, nothing is seen, and marks say so.
  static std::shared_ptr<WriteWatch> create();

  // Of one open file, for as long as it lives.
  class Mark {
   public:
    ~Mark();
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

    // A write, a new length, or a time of its content that was set by itself, since the mark was made.
    bool written() const;
    // A program that had it open for writing closed it, which is all that is seen of writes through a mapping.
    bool writer_closed() const;
    // Whether what the two above say is all that happened on this machine: there is a watch, and none of its messages was lost.
    bool sure() const;

   private:
    friend class WriteWatch;
    explicit Mark(std::shared_ptr<WriteWatch> watch) : watch_(std::move(watch)) {}
    const std::shared_ptr<WriteWatch> watch_;
    int id_ = -1;
    std::atomic<bool> written_ = false, writer_closed_ = false, lost_ = false;
  };
  // `fd`: of a file that is open for reading. Never throws for a file that cannot be watched.
  std::shared_ptr<const Mark> add(int fd);

 private:
  explicit WriteWatch(formats::FileDescriptor queue) : queue_(std::move(queue)) {}
  void read_messages();                      // the lock is held
  void take_message(int id, unsigned what);  // likewise
  void remove(const Mark& mark);

  std::mutex mutex_;
  const formats::FileDescriptor queue_;
  std::map<int, std::vector<Mark*>> marks_;  // by the kernel's id, which is one for all marks of a file
};

}  // namespace veneer::nodes
