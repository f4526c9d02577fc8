#include "plugin_report.h"

#include <cstdio>

#include "terminal_text.h"

namespace veneer::cli {

void report_refused(const std::vector<PluginInfo>& plugins) {
  for (const PluginInfo& plugin : plugins) {
    if (plugin.refused.empty()) continue;
    std::fprintf(stderr, "plug-in %s is refused: %s (%s)\n", printable(plugin.name).c_str(), printable(plugin.refused).c_str(),
                 printable(plugin.file).c_str());
  }
}

}  // namespace veneer::cli
