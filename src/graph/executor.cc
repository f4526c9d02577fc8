#include "graph/executor.h"

#include <algorithm>

#include "graph/prompt_run.h"

namespace veneer::graph {

Executor::Executor(const NodeRegistry& registry, const Environment& environment, ExecutorOptions options)
    : registry_(registry), environment_(environment), options_(options), cache_(options.cache) {
  options_.max_async_calls = std::max<size_t>(options_.max_async_calls, 1);
}

Executor::~Executor() = default;

ExecutionResult Executor::run(const Prompt& prompt, const ExecutionRequest& request, ExecutionObserver& observer) {
  return PromptRun({registry_, environment_, options_, cache_, states_, nonce_}, prompt, request, observer).run();
}

void Executor::clear() {
  cache_.clear();
  states_.clear();
}

}  // namespace veneer::graph
