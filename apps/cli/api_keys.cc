#include "api_keys.h"

#include <algorithm>
#include <fstream>

#include "veneer/error.h"

namespace veneer::cli {
namespace {

constexpr size_t kMinKey = 16;

}  // namespace

std::vector<std::pair<std::string, std::string>> read_api_keys(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw Error(ErrorCode::not_found, "the file of API keys cannot be read", {{"file", file}});
  std::vector<std::pair<std::string, std::string>> keys;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto refuse = [&](const char* rule) { throw Error(ErrorCode::invalid, rule, {{"file", file}, {"line", std::to_string(number)}}); };
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(':');
    std::string name = colon == std::string::npos ? "key" + std::to_string(keys.size() + 1) : line.substr(0, colon);
    std::string key = colon == std::string::npos ? line : line.substr(colon + 1);
    if (key.size() < kMinKey) refuse("an API key has at least 16 characters");
    if (name.empty() || std::ranges::any_of(keys, [&](const auto& known) { return known.first == name; }))
      refuse("an API key's name is empty or taken");
    keys.emplace_back(std::move(name), std::move(key));
  }
  if (keys.empty()) throw Error(ErrorCode::invalid, "the file has no API keys", {{"file", file}});
  return keys;
}

}  // namespace veneer::cli
