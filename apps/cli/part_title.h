// What the parts of a model are called for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace veneer::cli {

// "UNet" for "unet", "text encoder", "autoencoder".
std::string part_title(std::string_view part);

// "1 tensor", "2 tensors".
std::string count_of(size_t count, std::string_view noun);

}  // namespace veneer::cli
