#include "server/ws/send_queue.h"

#include <utility>

namespace veneer::server {

SendQueue::Push SendQueue::push(Outgoing message) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Push::queued;
  const size_t size = message.data->size();
  const bool droppable = message.kind == Outgoing::Kind::status || message.kind == Outgoing::Kind::preview;
  if (droppable && bytes_ > limits_.max_droppable) return Push::queued;
  if (size > limits_.max_bytes - bytes_) {
    closed_ = true;
    messages_.clear();
    bytes_ = 0;
    return Push::overflow;
  }
  bytes_ += size;
  messages_.push_back(std::move(message));
  return std::exchange(sending_, true) ? Push::queued : Push::start;
}

std::optional<Outgoing> SendQueue::pop() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty()) {
    sending_ = false;
    return std::nullopt;
  }
  Outgoing message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= message.data->size();
  return message;
}

void SendQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  messages_.clear();
  bytes_ = 0;
}

size_t SendQueue::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace veneer::server
