#include "memory_json.h"

namespace veneer::cli {

nlohmann::ordered_json totals_json(const MemoryAccount& account) {
  return {{"peak_resident_bytes", account.peak_resident_bytes},
          {"resident_bytes", account.resident_bytes},
          {"budget_bytes", account.budget_bytes},
          {"pinned_bytes", account.pinned_bytes},
          {"pinned_budget_bytes", account.pinned_budget_bytes},
          {"notice", account.notice}};
}

}  // namespace veneer::cli
