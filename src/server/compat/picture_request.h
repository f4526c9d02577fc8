// A request for pictures in the words of other APIs, and the prompt that makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/message.h"
#include "server/services.h"

namespace veneer::server {

// Of one model: each is a file that is opened and compared.
inline constexpr size_t kMaxAdapters = 64;

struct PictureRequest {
  std::string model;  // a name in checkpoints/
  std::string prompt, negative;
  std::vector<std::pair<std::string, double>> loras;  // names in loras/, strengths
  int steps = 20;
  double cfg = 7;
  std::string sampler = "euler", scheduler = "normal";
  std::vector<uint64_t> seeds;  // one per picture: each is what it would be alone
  int width = 512, height = 512;
  int clip_skip = 0;
  std::string init_image;            // a file of the input folder: image to image
  std::string mask_image;            // a file of the input folder that says where the picture is to change
  std::string mask_channel = "red";  // where this channel is full; "alpha": where it is empty
  double denoise = 1;
  std::string filename_prefix = "veneer";
};

// API format. The picture of seed i is saved by the node "save<i>".
Json picture_prompt(const PictureRequest& request);

// "a cat <lora:pixel:0.8>" -> "a cat " and ("pixel", 0.8). Throws HttpError(400) for a weight that is no number.
std::vector<std::pair<std::string, double>> take_loras(std::string& prompt);

struct MadePicture {
  uint64_t seed = 0;
  std::filesystem::path file;
  Json record;  // {"filename", "subfolder", "type"}
};

// Validates, queues, and waits for the pictures. Throws HttpError: 400 for what validation refuses, 429, 503, 504 when it takes too long, 422 for a
// node that failed, 409 when the job was cancelled. `prompt_id` is the job's; it is cancelled
// when the client of `asked` goes.
std::vector<MadePicture> make_pictures(Services& services, const PictureRequest& request, const Request& asked, const std::string& prompt_id);

struct StoredPicture {
  std::string name;           // in the input folder
  int width = 0, height = 0;  // pixels
  bool has_alpha = false;
};
// Stores the bytes of a picture in the input folder under a name made of their hash. Throws HttpError(400) for what is no picture.
StoredPicture store_input_picture(const Services& services, std::string_view bytes);

// Throws HttpError(404) for a model that is not there; the first one there is for "".
std::string checkpoint_name(const Services& services, const std::string& asked);
std::string lora_file_name(const Services& services, const std::string& asked);

std::string read_bytes(const std::filesystem::path& file);
std::string encode_base64(std::string_view bytes);
// Throws HttpError(400). A data URL's head and the ends of lines are skipped.
std::string decode_base64(std::string_view text);
uint64_t random_seed();

}  // namespace veneer::server
