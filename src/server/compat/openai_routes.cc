// OpenAI's images API: /v1/images/generations and /v1/images/edits.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "jobs/uuid.h"
#include "server/compat/picture_request.h"
#include "server/compat/routes.h"
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

// Forms carry numbers as text.
double number(const Json& members, const char* name, double otherwise, double low, double high) {
  const auto at = members.find(name);
  if (at == members.end() || at->is_null()) return otherwise;
  double value = NAN;
  if (at->is_number()) value = at->get<double>();
  if (at->is_string()) {
    char* end = nullptr;
    const std::string text = at->get<std::string>();
    value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') value = NAN;
  }
  if (!(value >= low && value <= high))
    throw HttpError(400, "invalid_request_error",
                    std::string(name) + " must be a number from " + std::to_string(std::lround(low)) + " to " + std::to_string(std::lround(high)));
  return value;
}

int whole(const Json& members, const char* name, int otherwise, int low, int high) {
  const double value = number(members, name, otherwise, low, high);
  if (value != std::floor(value)) {
    throw HttpError(400, "invalid_request_error",
                    std::string(name) + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return static_cast<int>(value);
}

uint64_t seed_member(const Json& members) {
  const auto at = members.find("seed");
  if (at == members.end() || at->is_null()) return random_seed();
  if (at->is_number_unsigned() || (at->is_number_integer() && at->get<int64_t>() >= 0)) return at->get<uint64_t>();
  if (at->is_string()) {
    if (const auto seed = seed_from_text(at->get_ref<const std::string&>())) return *seed;
  }
  throw HttpError(400, "invalid_request_error", "seed must be a whole number, not below 0, or the same as text");
}

std::string text(const Json& members, const char* name, const std::string& otherwise = "") {
  const auto at = members.find(name);
  if (at == members.end() || at->is_null()) return otherwise;
  if (!at->is_string()) throw HttpError(400, "invalid_request_error", std::string(name) + " must be text");
  return at->get<std::string>();
}

// Members that say how the answer looks: what there is not is refused and not left out.
void check_form(const Json& members) {
  const std::string format = text(members, "response_format", "b64_json");
  if (format != "b64_json" && format != "url") throw HttpError(400, "invalid_request_error", "response_format must be b64_json or url", format);
  const std::string type = text(members, "output_format", "png");
  if (type != "png") throw HttpError(400, "invalid_request_error", "output_format must be png", type);
  const auto stream = members.find("stream");
  if (stream != members.end() && !stream->is_null() && *stream != Json(false) && *stream != Json("false")) {
    throw HttpError(400, "invalid_request_error", "stream must be false");
  }
}

void read_size(const std::string& size, PictureRequest& request) {
  if (size.empty() || size == "auto") return;
  const size_t x = std::min(size.find('x'), size.size());
  const int64_t width = parse_integer(size.substr(0, x)).value_or(0);
  const int64_t height = parse_integer(size.substr(std::min(size.size(), x + 1))).value_or(0);
  const auto fits = [](int64_t side) { return side >= 16 && side <= 4096 && side % 8 == 0; };
  if (!fits(width) || !fits(height)) throw HttpError(400, "invalid_request_error", "size must be like 512x512: multiples of 8 from 16 to 4096", size);
  request.width = static_cast<int>(width);
  request.height = static_cast<int>(height);
}

void read_adapters(const Json& members, const Services& services, PictureRequest& request) {
  const auto list = members.find("adapters");
  if (list == members.end()) return;
  if (!list->is_array()) throw HttpError(400, "invalid_request_error", "adapters must be a list of objects with name and strength");
  if (list->size() > kMaxAdapters) throw HttpError(400, "invalid_request_error", "A model takes at most 64 adapters");
  for (const Json& adapter : *list) {
    if (!adapter.is_object()) throw HttpError(400, "invalid_request_error", "adapters must be a list of objects with name and strength");
    request.loras.emplace_back(lora_file_name(services, text(adapter, "name")), number(adapter, "strength", 1, -100, 100));
  }
}

PictureRequest read_request(const Json& members, const Services& services, const VariantBook& book) {
  check_form(members);
  PictureRequest out;
  out.prompt = text(members, "prompt");
  if (out.prompt.empty()) throw HttpError(400, "invalid_request_error", "prompt is missing");
  const std::string model = text(members, "model");
  if (const auto variant = book.find(model)) {
    out.model = variant->parent;
    out.loras = variant->adapters;
  } else {
    out.model = checkpoint_name(services, model);
  }
  for (const auto& [name, strength] : take_loras(out.prompt)) out.loras.emplace_back(lora_file_name(services, name), strength);
  read_adapters(members, services, out);
  out.negative = text(members, "negative_prompt");
  read_size(text(members, "size"), out);
  out.steps = whole(members, "steps", 20, 1, 1000);
  out.cfg = number(members, "cfg_scale", 7, 0, 100);
  out.sampler = text(members, "sampler", "euler");
  out.scheduler = text(members, "scheduler", "normal");
  const auto count = static_cast<uint64_t>(whole(members, "n", 1, 1, kMaxPictures));
  const uint64_t seed = seed_member(members);
  for (uint64_t i = 0; i < count; ++i) out.seeds.push_back(seed + i);
  out.filename_prefix = "openai";
  return out;
}

Response answer(const Request& request, const Services& services, const Json& members, const std::vector<MadePicture>& pictures) {
  const std::string format = text(members, "response_format", "b64_json");
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
  const Json members = parse_object(request);
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
  const Json members = form_members(form);
  PictureRequest asked = read_request(members, services, book);
  const StoredPicture picture = store_input_picture(services, image->value);
  asked.init_image = picture.name;
  const std::string size = text(members, "size");
  if (size.empty() || size == "auto") {
    asked.width = side_like(picture.width);
    asked.height = side_like(picture.height);
  }
  if (const FormField* mask = find_field(form, "mask")) asked.mask_image = store_mask(services, *mask);
  asked.mask_channel = "alpha";
  asked.denoise = number(members, "strength", 0.75, 0, 1);
  return answer(request, services, members, make_pictures(services, asked, request, jobs::make_uuid()));
}

}  // namespace

void add_openai_routes(Router& router, Services& services, VariantBook& book) {
  router.post("/v1/images/generations", [&](const Request& request) { return generate(request, services, book); });
  router.post("/v1/images/edits", [&](const Request& request) { return edit(request, services, book); });
}

}  // namespace veneer::server
