#include "part_title.h"

namespace veneer::cli {

std::string part_title(std::string_view part) {
  if (part == "unet") return "UNet";
  if (part == "text_encoder") return "text encoder";
  if (part == "vae") return "autoencoder";
  return std::string(part);
}

std::string count_of(size_t count, std::string_view noun) {
  std::string out = std::to_string(count) + " ";
  out += noun;
  return count == 1 ? out : out + "s";
}

}  // namespace veneer::cli
