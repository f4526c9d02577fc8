// "parameters" as the A1111 web UI writes and reads them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/compat/picture_request.h"

namespace veneer::server {

std::string parameters_text(const PictureRequest& request, uint64_t seed);

// The text entries of a picture. Throws HttpError(400) for what is no picture.
std::vector<std::pair<std::string, std::string>> picture_text(const std::string& bytes);

}  // namespace veneer::server
