// /models, /embeddings, /view_metadata, /experiment/models.
#include "engine/picture.h"
#include "server/comfy/routes.h"
#include "server/http/file_response.h"
#include "server/http/url.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

const std::string& known_kind(const Request& request, const Services& services) {
  const std::string& kind = request.parts.at(0);
  if (!services.models.has(kind)) throw HttpError(404, "not_found", "There is no such kind of model", kind);
  return kind;
}

Response list_embeddings(const Services& services) {
  Json names = Json::array();
  for (const std::string& name : services.models.list("embeddings")) names.push_back((fs::path(name).parent_path() / fs::path(name).stem()).string());
  return json_response(names);
}

Response metadata(const Request& request, const Services& services) {
  const std::string* name = request.find_query("filename");
  const std::string& kind = known_kind(request, services);
  const auto found = name == nullptr ? std::nullopt : services.models.metadata(kind, *name);
  if (!found) throw HttpError(404, "not_found", "There is no metadata");
  return json_response(*found);
}

Response describe_kinds(const Services& services) {
  Json list = Json::array();
  for (const std::string& kind : services.models.kinds()) {
    if (kind == "configs" || kind == "custom_nodes") continue;
    Json folders = Json::array();
    for (const fs::path& folder : services.models.folders(kind)) folders.push_back(folder.string());
    list.push_back({{"name", kind}, {"folders", folders}});
  }
  return json_response(list);
}

Response describe_files(const Request& request, const Services& services) {
  Json list = Json::array();
  for (const engine::ModelFileInfo& file : services.models.files(known_kind(request, services))) {
    if (fs::path(file.name).filename().string().starts_with('.')) continue;
    list.push_back(
        {{"name", file.name}, {"pathIndex", file.folder_index}, {"modified", file.modified}, {"created", file.created}, {"size", file.size_bytes}});
  }
  return json_response(list);
}

// The picture that belongs to a model: a file beside it, or its header's cover.
Response preview(const Request& request, const Services& services) {
  const std::string& kind = known_kind(request, services);
  const auto index = parse_integer(request.parts.at(1));
  const std::vector<fs::path> folders = services.models.folders(kind);
  if (!index || *index < 0 || *index >= static_cast<int64_t>(folders.size())) {
    throw HttpError(400, "invalid_request", "There is no folder of this number", request.parts.at(1));
  }
  const fs::path& folder = folders.at(static_cast<size_t>(*index));
  const std::string& name = request.parts.at(2);
  const std::string stem = (fs::path(name).parent_path() / fs::path(name).stem()).string();
  for (const char* ending : {".preview.png", ".preview.webp", ".preview.jpeg", ".preview.jpg", ".png", ".webp", ".jpeg", ".jpg"}) {
    const auto file = contained(folder, stem + ending);
    if (file && fs::is_regular_file(*file)) {
      const PictureGate::Pass pass(services.pictures, *file);
      return text_response(engine::convert_picture(*file, {.form = engine::PictureForm::webp}), "image/webp");
    }
  }
  throw HttpError(404, "not_found", "The model has no picture");
}

}  // namespace

void add_model_routes(Router& router, Services& services) {
  router.get("/embeddings", [&](const Request&) { return list_embeddings(services); });
  router.get("/models", [&](const Request&) { return json_response(Json(services.models.kinds())); });
  router.get("/models/{folder}", [&](const Request& request) { return json_response(Json(services.models.list(known_kind(request, services)))); });
  router.get("/view_metadata/{folder}", [&](const Request& request) { return metadata(request, services); });
  router.get("/experiment/models", [&](const Request&) { return describe_kinds(services); });
  router.get("/experiment/models/{folder}", [&](const Request& request) { return describe_files(request, services); });
  router.get("/experiment/models/preview/{folder}/{index}/{file...}", [&](const Request& request) { return preview(request, services); });
}

}  // namespace veneer::server
