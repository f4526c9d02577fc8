#include "server_log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace veneer::cli {
namespace {

using graph::Json;

spdlog::level::level_enum spdlog_level(server::LogLevel level) {
  switch (level) {
    case server::LogLevel::debug: return spdlog::level::debug;
    case server::LogLevel::info: return spdlog::level::info;
    case server::LogLevel::warning: return spdlog::level::warn;
    case server::LogLevel::error: break;
  }
  return spdlog::level::err;
}

std::string dumped(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

// The members that follow the fixed ones of a line; line ends within them are escaped, so that one entry is one line.
std::string line_of(std::string_view text, const Json& data, bool json) {
  std::string line;
  if (json) {
    line = "\"message\":" + dumped(Json(text));
    for (const auto& [name, value] : data.items()) line += "," + dumped(Json(name)) + ":" + dumped(value);
    return line;
  }
  line = std::string(text);
  for (const auto& [name, value] : data.items()) line += " " + name + "=" + dumped(value);
  return line;
}

}  // namespace

server::LogBook::Sink make_log_sink(bool json, const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("veneer", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})" : "%Y-%m-%d %H:%M:%S.%e %l %v");
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  return [logger, json](server::LogLevel at, std::string_view text, const Json& data) {
    const auto severity = spdlog_level(at);
    if (logger->should_log(severity)) logger->log(severity, "{}", line_of(text, data, json));
  };
}

}  // namespace veneer::cli
