// A goldens folder: groups of cases, each with parameters, input tensors, expected outputs and a tolerance.
//
// Layout of a folder: GROUP/manifest.json and GROUP/data*.safetensors, and models/NAME.safetensors for the tiny networks that cases run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"
#include "tensor/tensor.h"

namespace veneer::goldens {

struct Tolerance {
  bool exact = false;
  double atol = 0;
  double rtol = 0;
};

class Group;

// One case while it runs. A runner reads inputs, computes, and hands every result to one of the check functions; the case passes when every output
// and every expected value was checked and none differed.
class Case {
 public:
  Case(const Group& group, const nlohmann::json& description);

  const std::string& name() const { return name_; }
  const Group& group() const { return group_; }
  const nlohmann::json& description() const { return description_; }
  const nlohmann::json& params() const { return description_.at("params"); }
  // "expect", or null.
  const nlohmann::json& expect() const;
  bool has_input(std::string_view role) const;
  // The tensor that `inputs` names for a role. Throws Error(not_found).
  Tensor input(std::string_view role) const;
  bool has_output(std::string_view role) const;
  Tensor expected(std::string_view role) const;
  // All roles in `outputs`.
  std::vector<std::string> output_roles() const;
  Tolerance tolerance(std::string_view role) const;

  // Compares with the output of that role: shape, then each element within the tolerance. NaN equals NaN.
  void check(std::string_view role, const Tensor& got);
  // Notes that an output was compared by other means (a stated property instead of its values).
  void mark_checked(std::string_view role);
  // For expected JSON: fails the case with `what` unless `ok`.
  void require(bool ok, const std::string& what);

  // Empty when the case passed so far.
  const std::vector<std::string>& failures() const { return failures_; }
  // Outputs that no check looked at: a runner's fault, counted as a failure.
  std::vector<std::string> unchecked() const;

 private:
  const Group& group_;
  const nlohmann::json& description_;
  std::string name_;
  std::set<std::string, std::less<>> checked_;
  std::vector<std::string> failures_;
};

// A group's manifest and tensors.
class Group {
 public:
  // Throws Error naming the file.
  static std::unique_ptr<Group> open(const std::filesystem::path& folder, const std::string& name);
  const std::string& name() const { return name_; }
  const nlohmann::json& manifest() const { return manifest_; }
  const std::filesystem::path& root() const { return root_; }     // the goldens folder
  std::filesystem::path folder() const { return root_ / name_; }  // this group's folder
  Tensor tensor(std::string_view name) const;
  bool has_tensor(std::string_view name) const;
  // models/NAME.safetensors of the goldens folder.
  formats::ModelFile model(const std::string& name) const;
  // models/NAME.json
  nlohmann::json model_config(const std::string& name) const;

 private:
  std::string name_;
  std::filesystem::path root_;
  nlohmann::json manifest_;
  std::vector<formats::ModelFile> files_;
};

// Runs one case. A case that a runner cannot run throws; that is a failure.
using Runner = std::function<void(Case&)>;

struct GroupDef {
  std::string_view name;
  // Made once per group, so that a runner can keep a loaded network between cases.
  Runner (*make_runner)(const Group&);
};

// Every group that the tool can run: groups.cc holds the list, GROUP_group.cc each runner.
std::vector<GroupDef> all_groups();

}  // namespace veneer::goldens
