// The server's log on standard error.
#pragma once

#include <string>

#include "server/log_book.h"

namespace veneer::cli {

// Writes lines of text, or of JSON objects with the members time, level, message and the entry's data. `level`: the least that is written.
server::LogBook::Sink make_log_sink(bool json, const std::string& level);

}  // namespace veneer::cli
