#include "server/compat/parameters_text.h"

#include <sstream>

#include "engine/picture.h"
#include "server/compat/sampler_names.h"
#include "veneer/error.h"

namespace veneer::server {

std::string parameters_text(const PictureRequest& r, uint64_t seed) {
  std::ostringstream out;
  out << r.prompt;
  for (const auto& [name, strength] : r.loras) out << " <lora:" << name << ":" << strength << ">";
  out << "\nNegative prompt: " << r.negative << "\nSteps: " << r.steps << ", Sampler: " << web_ui_name(r.sampler)
      << ", Schedule type: " << r.scheduler << ", CFG scale: " << r.cfg << ", Seed: " << seed << ", Size: " << r.width << "x" << r.height
      << ", Model: " << r.model;
  if (r.denoise < 1) out << ", Denoising strength: " << r.denoise;
  return out.str();
}

std::vector<std::pair<std::string, std::string>> picture_text(const std::string& bytes) {
  try {
    return engine::text_entries(std::as_bytes(std::span(bytes)));
  } catch (const Error& error) {
    throw HttpError(400, "invalid_request", "The picture cannot be read", error.what());
  }
}

}  // namespace veneer::server
