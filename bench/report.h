// What was measured: printed line by line, kept for JSON and for a comparison with an earlier run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace veneer::bench {

// What a figure's ratio is to be.
struct Target {
  double value = 0;
  bool at_most = false;  // else at least
};

struct Figure {
  std::string group, name;
  double value = 0;
  std::string unit;
  // The value as a part of what this machine can do, or of what is allowed. Such ratios can be compared between runs and machines.
  std::optional<double> ratio = {};
  std::string ratio_of = {};  // "matmul bf16"
  std::optional<Target> target = {};
  std::map<std::string, double> more = {};  // further numbers of the same measurement, for JSON

  bool met() const { return !target || (ratio && (target->at_most ? *ratio <= target->value : *ratio >= target->value)); }
};

class Report {
 public:
  void set_machine(std::map<std::string, std::string> facts) { machine_ = std::move(facts); }
  // Prints a line.
  void add(Figure figure);
  const std::vector<Figure>& figures() const { return figures_; }

  // Throws std::runtime_error naming the file.
  void write_json(const std::string& path) const;
  // Ratios of this run beside those of an earlier one's JSON. Returns how many are worse than before by more than `tolerance`. Throws
  // std::runtime_error for a file that is none of ours.
  int print_comparison(const std::string& path, double tolerance) const;
  // How many targets there were, and which were not met.
  void print_targets() const;

 private:
  std::map<std::string, std::string> machine_;
  std::vector<Figure> figures_;
};

}  // namespace veneer::bench
