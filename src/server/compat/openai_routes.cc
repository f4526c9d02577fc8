// OpenAI's images API: /v1/images/generations and /v1/images/edits.
#include <algorithm>
#include <ctime>

#include "jobs/uuid.h"
#include "server/compat/members.h"
#include "server/compat/picture_request.h"
#include "server/compat/routes.h"
#include "server/compat/sampler_names.h"
#include "server/http/multipart.h"
#include "server/http/url.h"

namespace veneer::server {
namespace {

constexpr int kMaxPictures = 10;

// The members of a request, whether they came as JSON or as a form.
Json form_members(const std::vector<FormField>& form) {
  Json members = Json::object();
  for (const FormField& field : form) {
    if (!field.is_file) members[field.name] = std::string(field.value);
  }
  return members;
}

// Of both requests. Those that only say how a picture is sold or checked elsewhere are read, and change nothing.
std::vector<std::string> member_names(bool edits) {
  std::vector<std::string> names = {"prompt",  "model",   "n",         "size",       "response_format", "output_format", "output_compression",
                                    "stream",  "quality", "style",     "background", "moderation",      "user",          "partial_images",
                                    "seed",    "steps",   "cfg_scale", "cfg",        "negative_prompt", "sampler",       "scheduler",
                                    "adapters"};
  if (edits) names.insert(names.end(), {"image", "image[]", "mask", "input_fidelity", "strength"});
  return names;
}

// Members that say how the answer looks: what there is not is refused and not left out.
void check_form(const Members& members) {
  members.choice("response_format", "b64_json", {"b64_json", "url"});
  members.choice("output_format", "png", {"png"});
  if (members.flag("stream", false)) members.refuse("stream", "must be false", Json{{"allowed", {false}}});
  members.whole("output_compression", 100, 0, 100);
  members.whole("partial_images", 0, 0, 0);
  members.choice("quality", "auto", {"auto", "low", "medium", "high", "standard", "hd"});
  members.choice("style", "", {"vivid", "natural"});
  members.choice("background", "auto", {"auto", "opaque"});
  members.choice("moderation", "auto", {"auto", "low"});
  members.choice("input_fidelity", "low", {"low", "high"});
  members.text("user");
}

double cfg_of(const Members& members) {
  if (members.find("cfg") != nullptr && members.find("cfg_scale") != nullptr) members.refuse("cfg", "is another name of cfg_scale: give one of them");
  return members.number(members.find("cfg") != nullptr ? "cfg" : "cfg_scale", 7, 0, 100);
}

void read_size(const Members& members, PictureRequest& request) {
  const std::string size = members.text("size");
  if (size.empty() || size == "auto") return;
  const size_t x = std::min(size.find('x'), size.size());
  const int64_t width = parse_integer(size.substr(0, x)).value_or(0);
  const int64_t height = parse_integer(size.substr(std::min(size.size(), x + 1))).value_or(0);
  const auto fits = [](int64_t side) { return side >= 16 && side <= 4096 && side % 8 == 0; };
  if (!fits(width) || !fits(height)) members.refuse("size", "must be auto, or like 512x512: multiples of 8 from 16 to 4096");
  request.width = static_cast<int>(width);
  request.height = static_cast<int>(height);
}

void read_adapters(const Members& members, const Services& services, PictureRequest& request) {
  const Json* list = members.find("adapters");
  if (list == nullptr) return;
  const char* rule = "must be a list of objects with name and strength";
  if (!list->is_array()) members.refuse("adapters", rule);
  if (list->size() > kMaxAdapters) members.refuse("adapters", "must be at most 64: a model takes no more");
  for (size_t i = 0; i < list->size(); ++i) {
    if (!(*list)[i].is_object()) members.refuse("adapters", rule);
    const Members adapter((*list)[i], Members::kOpenAi, "adapters[" + std::to_string(i) + "].");
    adapter.require_known({"name", "strength"});
    request.loras.emplace_back(lora_file_name(services, adapter.text("name")), adapter.number("strength", 1, -100, 100));
  }
}

PictureRequest read_request(const Members& members, const Services& services, const VariantBook& book) {
  check_form(members);
  PictureRequest out;
  out.prompt = members.text("prompt");
  if (out.prompt.empty()) members.refuse("prompt", "is missing");
  const std::string model = members.text("model");
  if (const auto variant = book.find(model)) {
    out.model = variant->parent;
    out.loras = variant->adapters;
  } else {
    out.model = checkpoint_name(services, model);
  }
  for (const auto& [name, strength] : take_loras(out.prompt)) out.loras.emplace_back(lora_file_name(services, name), strength);
  read_adapters(members, services, out);
  out.negative = members.text("negative_prompt");
  read_size(members, out);
  out.steps = members.whole("steps", 20, 1, 1000);
  out.cfg = cfg_of(members);
  out.sampler = members.choice("sampler", "euler", choices_of(services, "sampler_name"));
  out.scheduler = members.choice("scheduler", "normal", choices_of(services, "scheduler"));
  const auto count = static_cast<uint64_t>(members.whole("n", 1, 1, kMaxPictures));
  const std::optional<uint64_t> seed = members.seed("seed", false);
  const uint64_t first = seed ? *seed : random_seed();
  for (uint64_t i = 0; i < count; ++i) out.seeds.push_back(first + i);
  out.filename_prefix = "openai";
  return out;
}

Response answer(const Request& request, const Services& services, const Members& members, const std::vector<MadePicture>& pictures) {
  const std::string format = members.text("response_format", "b64_json");
  Json data = Json::array();
  for (const MadePicture& picture : pictures) {
    Json entry;
    if (format == "url") {
      const Json& r = picture.record;
      entry["url"] = (services.options.tls_certificate.empty() ? "http://" : "https://") + std::string(request.header("host")) +
                     "/view?filename=" + percent_encode(r.at("filename").get<std::string>()) +
                     "&subfolder=" + percent_encode(r.at("subfolder").get<std::string>()) + "&type=" + r.at("type").get<std::string>();
    } else {
      entry["b64_json"] = encode_base64(read_bytes(picture.file));
    }
    entry["seed"] = std::to_string(picture.seed);
    data.push_back(std::move(entry));
  }
  return json_response(Json{{"created", std::time(nullptr)}, {"data", data}});
}

Response generate(const Request& request, Services& services, const VariantBook& book) {
  const Json body = parse_object(request);
  const Members members(body, Members::kOpenAi);
  members.require_known(member_names(false));
  const PictureRequest asked = read_request(members, services, book);
  return answer(request, services, members, make_pictures(services, asked, request, jobs::make_uuid()));
}

// The side of a picture that is made from one with this side.
int side_like(int side) { return std::clamp((side + 4) / 8 * 8, 16, 4096); }

// What is transparent is made anew; a mask in which nothing can be would leave the picture as it is.
std::string store_mask(const Services& services, const FormField& field) {
  if (!field.is_file) throw HttpError(400, "invalid_request_error", "mask must be a picture");
  const StoredPicture mask = store_input_picture(services, field.value);
  if (!mask.has_alpha) throw HttpError(400, "invalid_request_error", "mask must have an alpha channel: what is transparent in it is made anew");
  return mask.name;
}

Response edit(const Request& request, Services& services, const VariantBook& book) {
  const std::vector<FormField> form = parse_form(request);
  const auto is_image = [](const FormField& field) { return field.name == "image" || field.name == "image[]"; };
  if (std::ranges::count_if(form, is_image) > 1) throw HttpError(400, "invalid_request_error", "image must be one picture");
  const auto image = std::ranges::find_if(form, is_image);
  if (image == form.end() || !image->is_file) throw HttpError(400, "invalid_request_error", "image is missing");
  const Json fields = form_members(form);
  const Members members(fields, Members::kOpenAi);
  members.require_known(member_names(true));
  const double strength = members.number("strength", 0.75, 0, 1);
  PictureRequest asked = read_request(members, services, book);
  const StoredPicture picture = store_input_picture(services, image->value);
  asked.init_image = picture.name;
  const std::string size = members.text("size");
  if (size.empty() || size == "auto") {
    asked.width = side_like(picture.width);
    asked.height = side_like(picture.height);
  }
  if (const FormField* mask = find_field(form, "mask")) asked.mask_image = store_mask(services, *mask);
  asked.mask_channel = "alpha";
  asked.denoise = strength;
  return answer(request, services, members, make_pictures(services, asked, request, jobs::make_uuid()));
}

}  // namespace

void add_openai_routes(Router& router, Services& services, VariantBook& book) {
  router.post("/v1/images/generations", [&](const Request& request) { return generate(request, services, book); });
  router.post("/v1/images/edits", [&](const Request& request) { return edit(request, services, book); });
}

}  // namespace veneer::server
