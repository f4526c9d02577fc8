// The API of the A1111 web UI: /sdapi/v1/...
#include <algorithm>

#include "graph/json_text.h"
#include "graph/object_info.h"
#include "jobs/uuid.h"
#include "jobs/wire.h"
#include "server/compat/members.h"
#include "server/compat/parameters_text.h"
#include "server/compat/picture_request.h"
#include "server/compat/routes.h"
#include "server/compat/sampler_names.h"
#include "server/compat/web_ui_state.h"

namespace veneer::server {
namespace {

constexpr int64_t kMaxPictures = 64;

Json overrides(const Members& members) {
  const Json* given = members.find("override_settings");
  if (given != nullptr && !given->is_object()) members.refuse("override_settings", "must be an object");
  return given == nullptr ? Json::object() : *given;
}

// What asks for another picture than the one that would be made. "Not asked for" is false, 0, a side or a seed of -1, and what is empty.
void refuse_unsupported(const Members& members) {
  for (const char* name :
       {"enable_hr", "tiling", "restore_faces", "inpainting_mask_invert", "subseed_strength", "script_name", "alwayson_scripts", "styles",
        "refiner_checkpoint", "seed_resize_from_w", "seed_resize_from_h", "firstphase_width", "firstphase_height", "resize_mode"}) {
    const Json* given = members.find(name);
    if (given == nullptr || *given == false || (given->is_number() && (*given == 0 || *given == -1))) continue;
    const bool is_empty = (given->is_string() && given->get_ref<const std::string&>().empty()) || (given->is_structured() && given->empty());
    if (!is_empty) members.refuse(name, "is not supported: leave it out");
  }
}

void require_choice(const Json& body, const char* name, const std::string& chosen, const std::vector<std::string>& known) {
  if (std::ranges::find(known, chosen) != known.end()) return;
  std::vector<std::string> shown;
  for (const std::string& each : known) shown.push_back(web_ui_name(each));
  std::string list;
  for (const std::string& each : shown) list += (list.empty() ? "" : ", ") + each;
  Members(body, {400, "invalid_request", true}).refuse(name, "must be one of: " + list, Json{{"allowed", shown}});
}

PictureRequest read_request(const Json& body, const Services& services, const WebUiState& state) {
  const Members members(body, Members::kWebUi);
  refuse_unsupported(members);
  PictureRequest out;
  const Json given = overrides(members);
  const Members settings(given, Members::kWebUi, "override_settings.");
  out.model = checkpoint_name(services, settings.text("sd_model_checkpoint", state.checkpoint()));
  out.prompt = members.text("prompt");
  out.negative = members.text("negative_prompt");
  for (const auto& [name, strength] : take_loras(out.prompt)) out.loras.emplace_back(lora_file_name(services, name), strength);
  out.steps = members.whole("steps", 20, 1, 1000);
  // Without a picture to begin with it changes nothing, and is checked even so.
  members.number("denoising_strength", 0.75, 0, 1);
  out.cfg = members.number("cfg_scale", 7, 0, 100);
  out.width = members.whole("width", 512, 16, 4096) / 8 * 8;
  out.height = members.whole("height", 512, 16, 4096) / 8 * 8;
  out.clip_skip = settings.whole("CLIP_stop_at_last_layers", 0, 0, 2);
  const SamplerChoice choice = sampler_choice(members.text("sampler_name", members.text("sampler_index", "Euler")), members.text("scheduler"));
  out.sampler = choice.sampler;
  out.scheduler = choice.scheduler;
  require_choice(body, "sampler_name", out.sampler, choices_of(services, "sampler_name"));
  require_choice(body, "scheduler", out.scheduler, choices_of(services, "scheduler"));
  const std::optional<uint64_t> asked = members.seed("seed", true);
  const uint64_t seed = asked ? *asked : random_seed();
  const int64_t count = int64_t{members.whole("batch_size", 1, 1, 64)} * members.whole("n_iter", 1, 1, 64);
  if (count > kMaxPictures) members.refuse("batch_size", "times n_iter must be at most 64", Json{{"minimum", 1}, {"maximum", kMaxPictures}});
  for (int64_t i = 0; i < count; ++i) out.seeds.push_back(seed + static_cast<uint64_t>(i));
  return out;
}

Response answer(const Json& body, const PictureRequest& request, const std::vector<MadePicture>& pictures) {
  const bool send = Members(body, Members::kWebUi).flag("send_images", true);
  Json images = Json::array();
  Json info = {{"prompt", request.prompt},        {"negative_prompt", request.negative},
               {"seed", request.seeds.front()},   {"all_seeds", request.seeds},
               {"width", request.width},          {"height", request.height},
               {"sampler_name", request.sampler}, {"cfg_scale", request.cfg},
               {"steps", request.steps},          {"sd_model_name", request.model}};
  for (const MadePicture& picture : pictures) {
    if (send) images.push_back(encode_base64(read_bytes(picture.file)));
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
  const Members members(body, Members::kWebUi);
  const Json* images = members.find("init_images");
  if (images == nullptr || !images->is_array() || images->size() != 1 || !images->front().is_string()) {
    members.refuse("init_images", "must be a list of one picture as base64");
  }
  asked.init_image = store_input_picture(services, decode_base64(images->front().get_ref<const std::string&>())).name;
  const std::string mask = members.text("mask");
  if (!mask.empty()) asked.mask_image = store_input_picture(services, decode_base64(mask)).name;
  asked.denoise = members.number("denoising_strength", 0.75, 0, 1);
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
    // Web UIs tell where the file lies; from here on it lies in the folder of its kind.
    list.push_back(each(name, (path.parent_path() / path.stem()).string(), file ? services.public_text(file->string()) : name));
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
  const Json body = parse_object(request);
  const std::string asked = Members(body, Members::kWebUi).text("sd_model_checkpoint");
  if (!asked.empty()) state.choose(checkpoint_name(services, asked));
  return json_response(Json());
}

Response png_info(const Request& request, const Services& services) {
  const Json body = parse_object(request);
  const std::string bytes = decode_base64(Members(body, Members::kWebUi).text("image"));
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
