// What --profile gives: the trace in a file, the table for people, the rows as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "veneer/profile.h"

namespace veneer::cli {

// Throws Error(invalid) for a file that cannot be written later on: before a long job rather than after it.
void check_profile_file(const std::string& path);

// A line for each row of at least a two hundredth of the time, the largest first, and the totals.
std::string profile_table(const ProfileReport& report);

nlohmann::ordered_json profile_json(const ProfileReport& report, const std::string& path);

}  // namespace veneer::cli
