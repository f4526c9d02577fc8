// LoadedModelsLog: tells the log what became of loaded models by other hands.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/hot_swap.h"
#include "server/log_book.h"

namespace veneer::server {

// One thread at a time.
class LoadedModelsLog {
 public:
  explicit LoadedModelsLog(LogBook& log) : log_(log) {}
  // To be told from time to time what is loaded: a fault that came or went, and a file that took a name, are each said once.
  void look(const std::vector<engine::LoadedModel>& now);

 private:
  struct Known {
    std::string version, fault;
  };
  LogBook& log_;
  std::map<std::pair<std::string, std::string>, Known> known_;  // by type and name
};

}  // namespace veneer::server
