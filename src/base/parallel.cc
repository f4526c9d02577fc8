#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace veneer {
namespace {

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

#ifdef _OPENMP

int num_threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void set_num_threads(int threads) { omp_set_num_threads(threads > 0 ? threads : allowed_cores()); }

void parallel_for(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body) {
  if (count == 0) return;
  const size_t most = (count + std::max<size_t>(grain, 1) - 1) / std::max<size_t>(grain, 1);
  const size_t parts = std::min<size_t>(most, static_cast<size_t>(num_threads()));
  if (parts <= 1) {
    body(0, count);
    return;
  }
  std::exception_ptr failure;
  std::mutex failure_mutex;
#pragma omp parallel num_threads(static_cast <int>(parts))
  {
    // The runtime may grant fewer threads than asked for, so each thread strides over the parts.
    const auto stride = static_cast<size_t>(omp_get_num_threads());
    for (size_t part = static_cast<size_t>(omp_get_thread_num()); part < parts; part += stride) {
      const size_t begin = count * part / parts;
      const size_t end = count * (part + 1) / parts;
      try {
        if (begin < end) body(begin, end);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

#else

int num_threads() { return 1; }
void set_num_threads(int) { (void)allowed_cores; }
void parallel_for(size_t count, size_t, const std::function<void(size_t, size_t)>& body) {
  if (count != 0) body(0, count);
}

#endif

}  // namespace veneer
