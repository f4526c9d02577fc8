// ModelWatch: looks every other second whether files of models that are in memory were replaced or are gone.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace veneer::server {

// That a model is another by now is seen by every prompt that names it; what nobody asks for any more would stay in memory without this.
class ModelWatch {
 public:
  explicit ModelWatch(std::function<void()> look);
  ~ModelWatch();
  ModelWatch(const ModelWatch&) = delete;
  ModelWatch& operator=(const ModelWatch&) = delete;

 private:
  void run();
  const std::function<void()> look_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace veneer::server
