// Telling people of plug-ins that were refused.
#pragma once

#include <vector>

#include "veneer/engine.h"

namespace veneer::cli {

// A line on standard error for each.
void report_refused(const std::vector<PluginInfo>& plugins);

}  // namespace veneer::cli
