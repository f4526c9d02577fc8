// Pictures as the server hands them out and takes them in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/node_context.h"

namespace veneer::engine {

// What a sampler shows, as the bytes of a JPEG or PNG file whose longer side is `max_side` pixels (enlarged as well; 0: as it is).
std::string encode_preview(const graph::Preview& preview, int max_side);

enum class PictureForm : uint8_t { png, jpeg, webp };

struct PictureRequest {
  PictureForm form = PictureForm::png;
  int quality = 90;
  bool alpha_only = false;  // black, with the picture's alpha
  bool drop_alpha = false;
};

// The file in another form. Throws what formats::read_image does.
std::string convert_picture(const std::filesystem::path& file, const PictureRequest& request);
std::string convert_picture(std::span<const std::byte> bytes, const PictureRequest& request);

// The colours and text chunks of `original` with the alpha of `mask` (its bytes), as an RGBA PNG. Throws Error(invalid) when the sizes differ, and
// what decoding does.
std::string with_mask(const std::filesystem::path& original, std::span<const std::byte> mask);

// The text chunks of a picture. Throws what decoding does.
std::vector<std::pair<std::string, std::string>> text_entries(std::span<const std::byte> bytes);

}  // namespace veneer::engine
