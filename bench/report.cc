#include "bench/report.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace veneer::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string target_text(const Figure& figure) {
  if (!figure.target) return "";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "  target %s %.2f: %s", figure.target->at_most ? "<=" : ">=", figure.target->value,
                figure.met() ? "met" : "NOT MET");
  return text.data();
}

Json to_json(const Figure& figure) {
  Json out = {{"group", figure.group}, {"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
  if (figure.ratio) out["ratio"] = *figure.ratio;
  if (figure.ratio) out["ratio_of"] = figure.ratio_of;
  if (figure.target) out["target"] = {{figure.target->at_most ? "at_most" : "at_least", figure.target->value}};
  if (figure.target) out["met"] = figure.met();
  if (!figure.more.empty()) out["more"] = figure.more;
  return out;
}

// "group/name" -> ratio of an earlier run.
std::map<std::string, double> ratios_of(const std::string& path) {
  std::ifstream file(path);
  const Json report = Json::parse(file, nullptr, false);
  if (!file || report.is_discarded() || !report.is_object() || report.value("format", 0) != kFormat || !report.contains("figures")) {
    throw std::runtime_error("no report of veneer-bench: " + path);
  }
  std::map<std::string, double> out;
  for (const Json& figure : report.at("figures")) {
    if (figure.contains("ratio")) out[figure.at("group").get<std::string>() + "/" + figure.at("name").get<std::string>()] = figure.at("ratio");
  }
  return out;
}

}  // namespace

void Report::add(Figure figure) {
  std::string ratio;
  if (figure.ratio) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "  %6.3f of %s", *figure.ratio, figure.ratio_of.c_str());
    ratio = text.data();
  }
  std::printf("%-10s %-44s %10.3f %-8s%s%s\n", figure.group.c_str(), figure.name.c_str(), figure.value, figure.unit.c_str(), ratio.c_str(),
              target_text(figure).c_str());
  std::fflush(stdout);
  figures_.push_back(std::move(figure));
}

void Report::write_json(const std::string& path) const {
  Json out = {{"format", kFormat}, {"machine", machine_}, {"figures", Json::array()}};
  for (const Figure& figure : figures_) out["figures"].push_back(to_json(figure));
  std::ofstream file(path);
  file << out.dump(1) << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot be written: " + path);
}

int Report::print_comparison(const std::string& path, double tolerance) const {
  const std::map<std::string, double> before = ratios_of(path);
  int worse = 0;
  std::printf("\nagainst %s, as parts of each run's own machine:\n", path.c_str());
  for (const Figure& figure : figures_) {
    const auto found = before.find(figure.group + "/" + figure.name);
    if (!figure.ratio || found == before.end() || found->second == 0) continue;
    const double change = *figure.ratio / found->second;
    const bool less_is_better = figure.target && figure.target->at_most;
    const bool bad = less_is_better ? change > 1 + tolerance : change < 1 - tolerance;
    worse += bad ? 1 : 0;
    std::printf("%-10s %-44s %6.3f  before %6.3f  %5.2f%s\n", figure.group.c_str(), figure.name.c_str(), *figure.ratio, found->second, change,
                bad ? "  WORSE" : "");
  }
  return worse;
}

void Report::print_targets() const {
  int all = 0, met = 0;
  for (const Figure& figure : figures_) {
    all += figure.target ? 1 : 0;
    met += figure.target && figure.met() ? 1 : 0;
  }
  if (all == 0) return;
  std::printf("\n%d of %d targets met\n", met, all);
  for (const Figure& figure : figures_) {
    if (!figure.met())
      std::printf("not met: %s, %s: %.3f%s\n", figure.group.c_str(), figure.name.c_str(), *figure.ratio, target_text(figure).c_str());
  }
}

}  // namespace veneer::bench
