// POST /upload/image and /upload/mask.
#include "engine/picture.h"
#include "engine/written_file.h"
#include "graph/json_text.h"
#include "server/comfy/folders.h"
#include "server/comfy/routes.h"
#include "server/http/file_response.h"
#include "server/http/multipart.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

constexpr int kMaxNumbered = 100'000;

struct Target {
  std::string name, subfolder, type;
  std::filesystem::path file;
  bool overwrite = false;
};

std::string text_field(const std::vector<FormField>& form, const char* name, const char* otherwise) {
  const FormField* field = find_field(form, name);
  return field == nullptr || field->is_file ? otherwise : std::string(field->value);
}

const FormField& picture_of(const std::vector<FormField>& form) {
  const FormField* field = find_field(form, "image");
  if (field == nullptr) throw HttpError(400, "invalid_request", "The form has no file named image");
  if (!field->is_file || field->filename.empty()) throw HttpError(400, "invalid_request", "image must be a file with a name");
  return *field;
}

Target read_target(const std::vector<FormField>& form, const std::string& filename, const Services& services) {
  Target out;
  out.name = filename;
  out.type = text_field(form, "type", "input");
  out.subfolder = text_field(form, "subfolder", "");
  const std::string overwrite = text_field(form, "overwrite", "");
  out.overwrite = overwrite == "true" || overwrite == "1";
  const auto folder = folder_of(services.core, out.type);
  if (!folder) throw HttpError(400, "invalid_request", "type must be input, output or temp", out.type);
  const char* outside = "The file would leave its folder";
  const std::filesystem::path directory = require_contained(*folder, out.subfolder, 400, outside);
  // Both lie in the folder: a name may go into a directory that is there already.
  const std::filesystem::path file = require_contained(directory, out.name, 400, outside);
  if (file == directory) throw HttpError(400, "invalid_request", outside, out.subfolder + "/" + out.name);
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed == std::errc::no_space_on_device) throw HttpError(507, "storage", "The disk is full: the file was not written");
  if (failed || !std::filesystem::is_directory(file.parent_path())) {
    throw HttpError(400, "invalid_request", "There is no such directory", out.subfolder + "/" + out.name);
  }
  if (std::filesystem::is_directory(file)) throw HttpError(400, "invalid_request", "A directory has this name", out.name);
  out.file = file;
  return out;
}

// Stores the bytes under the name, or "name (1).ext", ...: equal bytes are not stored twice.
void store(Target& target, std::string_view bytes) {
  if (target.overwrite) return engine::write_whole(target.file, bytes);
  const std::filesystem::path given = target.name;
  const std::string stem = (given.parent_path() / given.stem()).string();
  for (int number = 0; number < kMaxNumbered; ++number) {
    if (number > 0) {
      target.name = stem + " (" + std::to_string(number) + ")" + given.extension().string();
      target.file.replace_filename(std::filesystem::path(target.name).filename());
    }
    if (engine::has_bytes(target.file, bytes) || engine::write_new(target.file, bytes)) return;
  }
  throw HttpError(409, "conflict", "Too many files have this name", target.name);
}

Response answer(const Target& target) { return json_response(Json{{"name", target.name}, {"subfolder", target.subfolder}, {"type", target.type}}); }

Response upload_image(const Request& request, const Services& services) {
  const std::vector<FormField> form = parse_form(request);
  const FormField& picture = picture_of(form);
  Target target = read_target(form, picture.filename, services);
  store(target, picture.value);
  return answer(target);
}

// The file that original_ref names, which must be there.
std::filesystem::path original_of(const std::vector<FormField>& form, const Services& services) {
  const std::string text = text_field(form, "original_ref", "");
  Json reference;
  try {
    reference = graph::parse_json(text);
  } catch (const Error&) {
    // Said below.
  }
  const bool named = reference.is_object() && reference.contains("filename") && reference.at("filename").is_string();
  if (!named) throw HttpError(400, "invalid_request", "original_ref must be JSON with a filename", text.substr(0, 200));
  std::string name = reference.at("filename").get<std::string>();
  std::string type = take_folder_note(name);
  const auto text_of = [&](const char* member, const char* otherwise) {
    const auto at = reference.find(member);
    return at != reference.end() && at->is_string() ? at->get<std::string>() : std::string(otherwise);
  };
  if (type.empty()) type = text_of("type", "output");
  const auto folder = folder_of(services.core, type);
  if (!folder) throw HttpError(400, "invalid_request", "type must be input, output or temp", type);
  const std::string subfolder = text_of("subfolder", "");
  std::filesystem::path file =
      require_contained(*folder, subfolder.empty() ? name : subfolder + "/" + name, 403, "The original lies outside of its folder");
  if (!std::filesystem::is_regular_file(file)) throw HttpError(404, "not_found", "There is no such original", name);
  return file;
}

Response upload_mask(const Request& request, const Services& services) {
  const std::vector<FormField> form = parse_form(request);
  const FormField& mask = picture_of(form);
  const std::filesystem::path original = original_of(form, services);
  const PictureGate::Pass pass(services.pictures, original, mask.value);
  const std::string merged = engine::with_mask(original, std::as_bytes(std::span(mask.value)));
  Target target = read_target(form, mask.filename, services);
  store(target, merged);
  return answer(target);
}

}  // namespace

void add_upload_routes(Router& router, Services& services) {
  router.post("/upload/image", [&](const Request& request) { return upload_image(request, services); });
  router.post("/upload/mask", [&](const Request& request) { return upload_mask(request, services); });
}

}  // namespace veneer::server
