#include "bench/evaluation.h"

#include "base/profile_report.h"

namespace veneer::bench {

ProfileReport report_of(Profile& profile) { return profile_report(profile.take()); }

void take_best(const ProfileReport& report, double seconds, Evaluation& out) {
  if (out.seconds > 0 && out.seconds <= seconds) return;
  double flops = 0, matrix = 0, other = 0;
  for (const ProfileRow& row : report.rows) {
    if (row.kind != "op") continue;
    flops += row.flops;
    (row.flops > 0 ? matrix : other) += row.seconds;
  }
  out.seconds = seconds;
  out.flops = flops;
  out.matrix_share = matrix / seconds;
  out.other_share = other / seconds;
}

}  // namespace veneer::bench
