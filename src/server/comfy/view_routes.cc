// GET /view: pictures and other files of the input, output and temp folders.
#include "engine/picture.h"
#include "server/comfy/folders.h"
#include "server/comfy/routes.h"
#include "server/http/file_response.h"
#include "server/http/url.h"

namespace veneer::server {
namespace {

constexpr int kDefaultQuality = 90;

std::filesystem::path resolve(const Request& request, const Services& services) {
  const std::string* given = request.find_query("filename");
  if (given == nullptr) throw HttpError(404, "not_found", "filename is missing");
  std::string name = *given;
  std::string type = take_folder_note(name);
  if (name.empty()) throw HttpError(400, "invalid_request", "filename is empty");
  if (name.starts_with('/') || name.find("..") != std::string::npos) throw HttpError(400, "invalid_request", "filename leaves its folder", name);
  if (type.empty()) {
    const std::string* asked = request.find_query("type");
    type = asked == nullptr ? "output" : *asked;
  }
  const auto folder = folder_of(services.core, type);
  if (!folder) throw HttpError(400, "invalid_request", "type must be input, output or temp", type);
  const size_t slash = name.find_last_of('/');
  if (slash != std::string::npos) name.erase(0, slash + 1);
  const std::string* sub = request.find_query("subfolder");
  // As ComfyUI answers it: there is no such file, and why.
  if (name.find('\0') != std::string::npos || (sub != nullptr && sub->find('\0') != std::string::npos)) {
    throw HttpError(404, "not_found", "There is no such file: a name may not have a zero byte");
  }
  return require_contained(*folder, sub == nullptr || sub->empty() ? name : *sub + "/" + name, 403, "The file lies outside of its folder");
}

// "webp;80", "jpeg", "60".
engine::PictureRequest read_preview(const std::string& preview, const std::string& channel) {
  engine::PictureRequest out;
  const size_t last = preview.rfind(';');
  const std::string format = preview.substr(0, preview.find(';'));
  const bool alpha = channel.find('a') != std::string::npos;
  out.form = format == "jpeg" && !alpha ? engine::PictureForm::jpeg : engine::PictureForm::webp;
  const auto quality = parse_integer(last == std::string::npos ? preview : preview.substr(last + 1));
  out.quality = static_cast<int>(quality.value_or(kDefaultQuality));
  if (quality && (*quality < 0 || *quality > 100)) throw HttpError(400, "invalid_request", "the preview's quality is from 0 to 100", preview);
  out.drop_alpha = out.form == engine::PictureForm::jpeg || channel == "rgb";
  return out;
}

std::string disposition(const std::string& name, bool attachment) {
  std::string quoted;
  for (const char c : name) {
    // A line end would begin another header.
    if (static_cast<unsigned char>(c) < 32 || c == 127) continue;
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return std::string(attachment ? "attachment; " : "") + "filename=\"" + quoted + "\"";
}

Response converted(const std::filesystem::path& file, const engine::PictureRequest& how, const Services& services) {
  if (!std::filesystem::is_regular_file(file)) throw HttpError(404, "not_found", "There is no such file");
  const PictureGate::Pass pass(services.pictures, file);
  Response response = text_response(engine::convert_picture(file, how), "image/png");
  if (how.form == engine::PictureForm::jpeg) response.set("Content-Type", "image/jpeg");
  if (how.form == engine::PictureForm::webp) response.set("Content-Type", "image/webp");
  return response;
}

Response view(const Request& request, const Services& services) {
  const std::filesystem::path file = resolve(request, services);
  const std::string name = file.filename().string();
  const std::string* preview = request.find_query("preview");
  const std::string* channel_given = request.find_query("channel");
  const std::string channel = channel_given == nullptr ? "rgba" : *channel_given;
  const bool active = is_active_content(name);
  Response response;
  if (preview != nullptr) {
    response = converted(file, read_preview(*preview, channel_given == nullptr ? "" : channel), services);
  } else if (channel == "rgb" || channel == "a") {
    engine::PictureRequest how;
    how.alpha_only = channel == "a";
    how.drop_alpha = channel == "rgb";
    response = converted(file, how, services);
  } else {
    // What a browser would run comes as bytes to save; a picture of text keeps its type, and is saved too.
    const std::string type = content_type_of(name);
    response = file_response(request, file, active && type != "image/svg+xml" ? "application/octet-stream" : type);
    if (response.status == 404) return response;
  }
  response.set("Content-Disposition", disposition(name, active && preview == nullptr));
  response.set("X-Content-Type-Options", "nosniff");
  return response;
}

}  // namespace

void add_view_routes(Router& router, Services& services) {
  router.get("/view", [&](const Request& request) { return view(request, services); });
}

}  // namespace veneer::server
