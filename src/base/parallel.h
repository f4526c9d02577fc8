// Data parallelism over index ranges, on OpenMP's team of threads (the same team that oneDNN uses).
#pragma once

#include <cstddef>
#include <functional>

namespace veneer {

// How many threads `parallel_for` may use in calls made from this thread. At least 1; set_num_threads(0) means one per core
// that the process may run on. Applies to the calling thread only.
int num_threads();
void set_num_threads(int threads);

// Calls body(begin, end) over a partition of [0, count) into at most num_threads() contiguous ranges of at least `grain`
// elements (the last may be shorter). Returns when all are done. The first exception thrown by a body is rethrown here.
// Deterministic as long as the result for an index does not depend on the range it came in. A nested call runs in place.
void parallel_for(size_t count, size_t grain, const std::function<void(size_t begin, size_t end)>& body);

}  // namespace veneer
