// veneer-goldens DIR [--group G]... [--case NAME]: a line per case, last "N passed, N failed"; exit code 1 when a case failed.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "golden_set.h"

namespace {

using veneer::goldens::Case;
using veneer::goldens::Group;
using veneer::goldens::GroupDef;

struct Totals {
  int passed = 0;
  int failed = 0;
};

void run_group(const std::filesystem::path& folder, const GroupDef& def, const std::string& only_case, Totals& totals) {
  const auto group = Group::open(folder, std::string(def.name));
  const veneer::goldens::Runner runner = def.make_runner(*group);
  for (const auto& description : group->manifest().at("cases")) {
    Case golden(*group, description);
    if (!only_case.empty() && golden.name() != only_case) continue;
    std::vector<std::string> failures;
    try {
      runner(golden);
      failures = golden.failures();
      for (const std::string& role : golden.unchecked()) failures.push_back(role + ": not checked");
    } catch (const std::exception& error) {
      failures.push_back(error.what());
    }
    std::printf("%s %s/%s", failures.empty() ? "pass" : "FAIL", group->name().c_str(), golden.name().c_str());
    for (const std::string& failure : failures) std::printf("\n     %s", failure.c_str());
    std::printf("\n");
    ++(failures.empty() ? totals.passed : totals.failed);
  }
}

int usage() {
  std::printf("usage: veneer-goldens DIR [--group G]... [--case NAME]\ngroups:");
  for (const GroupDef& def : veneer::goldens::all_groups()) std::printf(" %.*s", static_cast<int>(def.name.size()), def.name.data());
  std::printf("\nexample: veneer-goldens tests/goldens --group rng\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path folder;
  std::vector<std::string> wanted;
  std::string only_case;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--group" && i + 1 < argc) {
      wanted.emplace_back(argv[++i]);
    } else if (argument == "--case" && i + 1 < argc) {
      only_case = argv[++i];
    } else if (folder.empty() && !argument.starts_with("--")) {
      folder = argument;
    } else {
      return usage();
    }
  }
  if (folder.empty()) return usage();

  Totals totals;
  try {
    std::vector<GroupDef> defs = veneer::goldens::all_groups();
    for (const std::string& name : wanted) {
      if (std::none_of(defs.begin(), defs.end(), [&](const GroupDef& def) { return def.name == name; })) return usage();
    }
    for (const GroupDef& def : defs) {
      const bool asked = std::find(wanted.begin(), wanted.end(), def.name) != wanted.end();
      if (!wanted.empty() && !asked) continue;
      if (!asked && !std::filesystem::exists(folder / def.name / "manifest.json")) {
        std::printf("absent %s: this folder has no such group\n", std::string(def.name).c_str());
        continue;
      }
      try {
        run_group(folder, def, only_case, totals);
      } catch (const std::exception& error) {
        std::printf("FAIL %s: %s\n", std::string(def.name).c_str(), error.what());
        ++totals.failed;
      }
    }
    // A group that the folder holds and the tool cannot run is said, never passed over in silence.
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!std::filesystem::exists(entry.path() / "manifest.json")) continue;
      if (std::none_of(defs.begin(), defs.end(), [&](const GroupDef& def) { return def.name == name; })) {
        std::printf("not run %s: no runner for this group yet\n", name.c_str());
      }
    }
  } catch (const std::exception& error) {
    std::printf("FAIL %s\n", error.what());
    ++totals.failed;
  }
  std::printf("%d passed, %d failed\n", totals.passed, totals.failed);
  return totals.failed == 0 ? 0 : 1;
}
