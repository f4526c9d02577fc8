// The API of the A1111 web UI: /sdapi/v1/...
#include <algorithm>
#include <array>
#include <cmath>

#include "graph/json_text.h"
#include "graph/object_info.h"
#include "jobs/uuid.h"
#include "jobs/wire.h"
#include "server/compat/parameters_text.h"
#include "server/compat/picture_request.h"
#include "server/compat/routes.h"
#include "server/compat/sampler_names.h"
#include "server/compat/web_ui_state.h"

namespace veneer::server {
namespace {

constexpr int64_t kMaxPictures = 64;

std::string text(const Json& body, const char* name, const std::string& otherwise = "") {
  const auto at = body.find(name);
  if (at == body.end() || at->is_null()) return otherwise;
  if (!at->is_string()) throw HttpError(400, "invalid_request", std::string(name) + " must be text");
  return at->get<std::string>();
}

double number(const Json& body, const char* name, double otherwise, double low, double high) {
  const auto at = body.find(name);
  if (at == body.end() || at->is_null()) return otherwise;
  if (!at->is_number() || !(at->get<double>() >= low && at->get<double>() <= high)) {
    throw HttpError(422, "invalid_request", std::string(name) + " is out of range", jobs::wire_text(*at));
  }
  return at->get<double>();
}

int whole(const Json& body, const char* name, int otherwise, int low, int high) {
  const double value = number(body, name, otherwise, low, high);
  if (value != std::floor(value)) throw HttpError(422, "invalid_request", std::string(name) + " must be a whole number");
  return static_cast<int>(value);
}

uint64_t seed_of(const Json& body) {
  const auto at = body.find("seed");
  if (at == body.end() || at->is_null()) return random_seed();
  if (at->is_number_unsigned()) return at->get<uint64_t>();
  if (at->is_number_integer()) return at->get<int64_t>() < 0 ? random_seed() : at->get<uint64_t>();
  // Browsers round numbers beyond 2^53.
  if (at->is_string()) {
    if (const auto seed = seed_from_text(at->get_ref<const std::string&>())) return *seed;
  }
  throw HttpError(422, "invalid_request", "seed must be a whole number, or the same as text");
}

Json overrides(const Json& body) {
  const auto at = body.find("override_settings");
  if (at == body.end() || at->is_null()) return Json::object();
  if (!at->is_object()) throw HttpError(422, "invalid_request", "override_settings must be an object");
  return *at;
}

// What asks for another picture than the one that would be made. "Not asked for" is false, 0, and what is empty.
void refuse_unsupported(const Json& body) {
  for (const char* name :
       {"enable_hr", "tiling", "restore_faces", "inpainting_mask_invert", "subseed_strength", "script_name", "alwayson_scripts", "styles"}) {
    const auto at = body.find(name);
    if (at == body.end() || at->is_null() || *at == false || (at->is_number() && *at == 0)) continue;
    const bool is_empty = (at->is_string() && at->get_ref<const std::string&>().empty()) || (at->is_structured() && at->empty());
    if (!is_empty) throw HttpError(422, "invalid_request", std::string(name) + " is not supported: leave it out", jobs::wire_text(*at));
  }
}

PictureRequest read_request(const Json& body, const Services& services, const WebUiState& state) {
  refuse_unsupported(body);
  PictureRequest out;
  const Json settings = overrides(body);
  out.model = checkpoint_name(services, text(settings, "sd_model_checkpoint", state.checkpoint()));
  out.prompt = text(body, "prompt");
  out.negative = text(body, "negative_prompt");
  for (const auto& [name, strength] : take_loras(out.prompt)) out.loras.emplace_back(lora_file_name(services, name), strength);
  out.steps = whole(body, "steps", 20, 1, 1000);
  // Without a picture to begin with it changes nothing, and is checked even so.
  number(body, "denoising_strength", 0.75, 0, 1);
  out.cfg = number(body, "cfg_scale", 7, 0, 100);
  out.width = whole(body, "width", 512, 16, 4096) / 8 * 8;
  out.height = whole(body, "height", 512, 16, 4096) / 8 * 8;
  out.clip_skip = whole(settings, "CLIP_stop_at_last_layers", 0, 0, 2);
  const SamplerChoice choice = sampler_choice(text(body, "sampler_name", text(body, "sampler_index", "Euler")), text(body, "scheduler", ""));
  out.sampler = choice.sampler;
  out.scheduler = choice.scheduler;
  const uint64_t seed = seed_of(body);
  const int64_t count = int64_t{whole(body, "batch_size", 1, 1, 64)} * whole(body, "n_iter", 1, 1, 64);
  if (count > kMaxPictures) throw HttpError(422, "invalid_request", "Too many pictures for one request", std::to_string(kMaxPictures));
  for (int64_t i = 0; i < count; ++i) out.seeds.push_back(seed + static_cast<uint64_t>(i));
  return out;
}

Response answer(const Json& body, const PictureRequest& request, const std::vector<MadePicture>& pictures) {
  Json images = Json::array();
  Json info = {{"prompt", request.prompt},        {"negative_prompt", request.negative},
               {"seed", request.seeds.front()},   {"all_seeds", request.seeds},
               {"width", request.width},          {"height", request.height},
               {"sampler_name", request.sampler}, {"cfg_scale", request.cfg},
               {"steps", request.steps},          {"sd_model_name", request.model}};
  for (const MadePicture& picture : pictures) {
    images.push_back(encode_base64(read_bytes(picture.file)));
    info["infotexts"].push_back(parameters_text(request, picture.seed));
    info["seed_texts"].push_back(std::to_string(picture.seed));
  }
  Json parameters = body;
  for (const char* large : {"init_images", "mask"}) parameters.erase(large);
  return json_response(Json{{"images", images}, {"parameters", parameters}, {"info", jobs::wire_text(info)}});
}

Response make(const Request& request, const Json& body, const PictureRequest& asked, Services& services, WebUiState& state) {
  const std::string id = jobs::make_uuid();
  const WebUiState::Task task(state, id);
  return answer(body, asked, make_pictures(services, asked, request, id));
}

Response text_to_image(const Request& request, Services& services, WebUiState& state) {
  const Json body = parse_object(request);
  return make(request, body, read_request(body, services, state), services, state);
}

Response image_to_image(const Request& request, Services& services, WebUiState& state) {
  const Json body = parse_object(request);
  PictureRequest asked = read_request(body, services, state);
  const auto images = body.find("init_images");
  if (images == body.end() || !images->is_array() || images->empty() || !images->front().is_string()) {
    throw HttpError(422, "invalid_request", "init_images must be a list of one picture as base64");
  }
  if (images->size() > 1) throw HttpError(422, "invalid_request", "init_images: one picture at a time", std::to_string(images->size()));
  asked.init_image = store_input_picture(services, decode_base64(images->front().get_ref<const std::string&>())).name;
  const std::string mask = text(body, "mask");
  if (!mask.empty()) asked.mask_image = store_input_picture(services, decode_base64(mask)).name;
  asked.denoise = number(body, "denoising_strength", 0.75, 0, 1);
  return make(request, body, asked, services, state);
}

Response progress(const Services& services, const WebUiState& state) {
  const std::optional<std::string> running = state.running(services.queue);
  const WebUiState::Steps steps = running ? state.steps(*running) : WebUiState::Steps{};
  const Json job = {{"skipped", false},
                    {"interrupted", false},
                    {"job", running.value_or("")},
                    {"job_count", services.queue.remaining()},
                    {"sampling_step", steps.done},
                    {"sampling_steps", steps.of}};
  const double part = steps.of > 0 ? static_cast<double>(steps.done) / static_cast<double>(steps.of) : 0.0;
  return json_response(Json{{"progress", part}, {"eta_relative", 0.0}, {"state", job}, {"current_image", nullptr}, {"textinfo", nullptr}});
}

// Stops what this API has running, not what others have.
Response interrupt(Services& services, const WebUiState& state) {
  if (const auto running = state.running(services.queue)) services.queue.interrupt(running);
  return json_response(Json::object());
}

Json stems(const Services& services, const char* kind,
           const std::function<Json(const std::string& name, const std::string& stem, const std::string& path)>& each) {
  Json list = Json::array();
  for (const std::string& name : services.models.list(kind)) {
    const std::filesystem::path path = name;
    const auto file = services.models.find(kind, name);
    list.push_back(each(name, (path.parent_path() / path.stem()).string(), file ? file->string() : name));
  }
  return list;
}

Response models(const Services& services) {
  return json_response(stems(services, "checkpoints", [](const std::string& name, const std::string& stem, const std::string& path) {
    return Json{{"title", name}, {"model_name", stem}, {"hash", nullptr}, {"sha256", nullptr}, {"filename", path}, {"config", nullptr}};
  }));
}

Response loras(const Services& services) {
  return json_response(stems(services, "loras", [&](const std::string& name, const std::string& stem, const std::string& path) {
    return Json{{"name", stem}, {"alias", stem}, {"path", path}, {"metadata", services.models.metadata("loras", name).value_or(Json::object())}};
  }));
}

Response samplers(const Services& services) {
  Json list = Json::array();
  for (const std::string& name : choices_of(services, "sampler_name")) {
    list.push_back({{"name", web_ui_name(name)}, {"aliases", Json::array({name})}, {"options", Json::object()}});
  }
  return json_response(list);
}

Response schedulers(const Services& services) {
  Json list = Json::array();
  for (const std::string& name : choices_of(services, "scheduler")) list.push_back({{"name", name}, {"label", name}, {"aliases", Json::array()}});
  return json_response(list);
}

Response get_options(const Services& services, const WebUiState& state) {
  const std::vector<std::string> names = services.models.list("checkpoints");
  const std::string chosen = state.checkpoint().empty() && !names.empty() ? names.front() : state.checkpoint();
  return json_response(Json{{"sd_model_checkpoint", chosen}, {"CLIP_stop_at_last_layers", 1}, {"samples_format", "png"}});
}

Response post_options(const Request& request, const Services& services, WebUiState& state) {
  const std::string asked = text(parse_object(request), "sd_model_checkpoint");
  if (!asked.empty()) state.choose(checkpoint_name(services, asked));
  return json_response(Json());
}

Response png_info(const Request& request, const Services& services) {
  const std::string bytes = decode_base64(text(parse_object(request), "image"));
  const PictureGate::Pass pass(services.pictures, {}, bytes);
  const auto entries = picture_text(bytes);
  Json items = Json::object();
  std::string info;
  for (const auto& [key, value] : entries) {
    items[key] = value;
    if (key == "parameters" || info.empty()) info = value;
  }
  return json_response(Json{{"info", info}, {"items", items}, {"parameters", Json::object()}});
}

}  // namespace

void add_a1111_routes(Router& router, Services& services, WebUiState& state) {
  router.post("/sdapi/v1/txt2img", [&](const Request& request) { return text_to_image(request, services, state); });
  router.post("/sdapi/v1/img2img", [&](const Request& request) { return image_to_image(request, services, state); });
  router.get("/sdapi/v1/progress", [&](const Request&) { return progress(services, state); });
  router.post("/sdapi/v1/interrupt", [&](const Request&) { return interrupt(services, state); });
  router.get("/sdapi/v1/options", [&](const Request&) { return get_options(services, state); });
  router.post("/sdapi/v1/options", [&](const Request& request) { return post_options(request, services, state); });
  router.get("/sdapi/v1/sd-models", [&](const Request&) { return models(services); });
  router.get("/sdapi/v1/loras", [&](const Request&) { return loras(services); });
  router.get("/sdapi/v1/samplers", [&](const Request&) { return samplers(services); });
  router.get("/sdapi/v1/schedulers", [&](const Request&) { return schedulers(services); });
  router.post("/sdapi/v1/png-info", [&](const Request& request) { return png_info(request, services); });
}

}  // namespace veneer::server
