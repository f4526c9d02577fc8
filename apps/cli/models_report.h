// Model files, for people and for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "veneer/model_library.h"

namespace veneer::cli {

nlohmann::ordered_json to_json(const ModelEntry& model);
nlohmann::ordered_json to_json(const std::vector<ModelEntry>& models);
nlohmann::ordered_json to_json(const std::vector<VerifiedModel>& models);

void print_list(const std::vector<ModelEntry>& models, bool with_types);
void print_model(const ModelEntry& model);
void print_verified(const std::vector<VerifiedModel>& models);

}  // namespace veneer::cli
