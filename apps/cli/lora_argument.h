// The value of --lora.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace veneer::cli {

// Adds --lora, to be given several times.
void add_lora_option(CLI::App& app, std::vector<std::string>& texts);

// Of each text, "NAME" (strength 1) or "NAME:STRENGTH", the name and the strength. Throws Error(invalid) naming the flag, the value, the rule and
// what is allowed, for a name that is empty and a strength that is no number from -100 to 100.
std::vector<std::pair<std::string, double>> parse_loras(const std::vector<std::string>& texts);

}  // namespace veneer::cli
