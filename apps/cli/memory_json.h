// The account of memory as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "veneer/memory.h"

namespace veneer::cli {

// The totals: peak_resident_bytes, resident_bytes, budget_bytes, pinned_bytes, pinned_budget_bytes, notice.
nlohmann::ordered_json totals_json(const MemoryAccount& account);

}  // namespace veneer::cli
