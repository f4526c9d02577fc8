#include "server/compat/picture_request.h"

#include <openssl/evp.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "engine/picture.h"
#include "engine/written_file.h"
#include "graph/json_text.h"
#include "server/comfy/folders.h"
#include "server/comfy/submit.h"
#include "server/http/file_response.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

constexpr std::chrono::minutes kLongest(30);
// Requests that wait hold a thread each; the others must go on.
constexpr size_t kMaxWaiting = 8;

Json link(const std::string& node, int slot) { return Json::array({node, slot}); }

Json node(const char* class_type, Json inputs) { return {{"class_type", class_type}, {"inputs", std::move(inputs)}}; }

// The latent that sampling starts from.
std::string add_latent(Json& prompt, const PictureRequest& r) {
  if (r.init_image.empty()) {
    prompt["latent"] = node("EmptyLatentImage", {{"width", r.width}, {"height", r.height}, {"batch_size", 1}});
    return "latent";
  }
  prompt["init"] = node("LoadImage", {{"image", r.init_image}});
  prompt["sized"] =
      node("ImageScale", {{"image", link("init", 0)}, {"upscale_method", "lanczos"}, {"width", r.width}, {"height", r.height}, {"crop", "disabled"}});
  prompt["latent"] = node("VAEEncode", {{"pixels", link("sized", 0)}, {"vae", link("model", 2)}});
  if (r.mask_image.empty()) return "latent";
  prompt["mask"] = node("LoadImageMask", {{"image", r.mask_image}, {"channel", r.mask_channel}});
  prompt["masked"] = node("SetLatentNoiseMask", {{"samples", link("latent", 0)}, {"mask", link("mask", 0)}});
  return "masked";
}

MadePicture picture_of(const Services& services, const Json& outputs, uint64_t seed, const std::string& save) {
  const Json record = outputs.at(save).at("images").at(0);
  const auto folder = folder_of(services.core, record.at("type").get<std::string>());
  return {seed, *folder / record.at("subfolder").get<std::string>() / record.at("filename").get<std::string>(), record};
}

[[noreturn]] void fail(const jobs::JobResult& result) {
  if (result.state == jobs::JobState::cancelled) throw HttpError(409, "cancelled", "The job was cancelled");
  const Json error = result.error.empty() ? Json::object() : graph::parse_json(result.error);
  throw HttpError(422, "execution_error", "A node failed", error.value("node_type", "") + ": " + error.value("exception_message", ""));
}

// Nothing when it takes too long or the server ends. A client that is gone needs no pictures.
std::optional<jobs::JobResult> wait_for(Waiters::Ticket& ticket, Services& services, const Request& asked, const std::string& prompt_id) {
  constexpr std::chrono::milliseconds kGlance(250);
  for (auto waited = std::chrono::milliseconds(0); waited < kLongest && !services.waiters.stopped(); waited += kGlance) {
    if (std::optional<jobs::JobResult> result = ticket.wait(kGlance)) return result;
    if (asked.gone && asked.gone()) {
      services.queue.cancel(prompt_id);
      throw HttpError(409, "cancelled", "The client is gone");
    }
  }
  return std::nullopt;
}

}  // namespace

Json picture_prompt(const PictureRequest& r) {
  Json prompt = Json::object();
  prompt["model"] = node("CheckpointLoaderSimple", {{"ckpt_name", r.model}});
  Json model = link("model", 0);
  Json clip = link("model", 1);
  for (size_t i = 0; i < r.loras.size(); ++i) {
    const std::string id = "lora" + std::to_string(i);
    const auto& [name, strength] = r.loras[i];
    prompt[id] =
        node("LoraLoader", {{"model", model}, {"clip", clip}, {"lora_name", name}, {"strength_model", strength}, {"strength_clip", strength}});
    model = link(id, 0);
    clip = link(id, 1);
  }
  if (r.clip_skip > 1) {
    prompt["skip"] = node("CLIPSetLastLayer", {{"clip", clip}, {"stop_at_clip_layer", -r.clip_skip}});
    clip = link("skip", 0);
  }
  prompt["positive"] = node("CLIPTextEncode", {{"text", r.prompt}, {"clip", clip}});
  prompt["negative"] = node("CLIPTextEncode", {{"text", r.negative}, {"clip", clip}});
  const std::string latent = add_latent(prompt, r);
  for (size_t i = 0; i < r.seeds.size(); ++i) {
    const std::string number = std::to_string(i);
    prompt["sample" + number] = node("KSampler", {{"model", model},
                                                  {"seed", r.seeds[i]},
                                                  {"steps", r.steps},
                                                  {"cfg", r.cfg},
                                                  {"sampler_name", r.sampler},
                                                  {"scheduler", r.scheduler},
                                                  {"positive", link("positive", 0)},
                                                  {"negative", link("negative", 0)},
                                                  {"latent_image", link(latent, 0)},
                                                  {"denoise", r.denoise}});
    prompt["decode" + number] = node("VAEDecode", {{"samples", link("sample" + number, 0)}, {"vae", link("model", 2)}});
    prompt["save" + number] = node("SaveImage", {{"images", link("decode" + number, 0)}, {"filename_prefix", r.filename_prefix}});
  }
  return prompt;
}

std::vector<std::pair<std::string, double>> take_loras(std::string& prompt) {
  std::vector<std::pair<std::string, double>> loras;
  std::string rest;
  std::string_view text = prompt;
  while (true) {
    const size_t begin = text.find("<lora:");
    const size_t end = begin == std::string_view::npos ? begin : text.find('>', begin);
    if (end == std::string_view::npos) break;
    rest += text.substr(0, begin);
    const std::string inside(text.substr(begin + 6, end - begin - 6));
    const size_t colon = inside.find(':');
    double strength = 1;
    if (colon != std::string::npos) {
      char* stop = nullptr;
      const std::string number = inside.substr(colon + 1);
      strength = std::strtod(number.c_str(), &stop);
      if (number.empty() || *stop != '\0' || !std::isfinite(strength)) {
        throw HttpError(400, "invalid_request", "The weight of a LoRA in the prompt is no number", inside);
      }
    }
    loras.emplace_back(inside.substr(0, colon), strength);
    text.remove_prefix(end + 1);
  }
  prompt = rest + std::string(text);
  return loras;
}

std::vector<MadePicture> make_pictures(Services& services, const PictureRequest& request, const Request& asked, const std::string& prompt_id) {
  if (request.loras.size() > kMaxAdapters) throw HttpError(400, "invalid_request", "A model takes at most 64 adapters");
  if (services.waiters.size() >= kMaxWaiting) throw HttpError(503, "busy", "Too many requests wait for pictures at this moment");
  Submission submission;
  submission.prompt = picture_prompt(request);
  submission.prompt_id = prompt_id;
  submission.owner = asked.owner;
  graph::Validation validation = validate(services, submission);
  if (!validation.ok() || !validation.node_errors.empty()) {
    std::string details;
    for (const auto& [id, errors] : validation.node_errors.items()) {
      for (const Json& error : errors.at("errors")) {
        details += (details.empty() ? "" : "; ") + error.value("message", "") + ": " + error.value("details", "");
      }
    }
    throw HttpError(400, "invalid_request", "The request cannot be run", details);
  }
  Waiters::Ticket ticket(services.waiters, submission.prompt_id);
  submit(services, std::move(submission), std::move(validation));
  const std::optional<jobs::JobResult> result = wait_for(ticket, services, asked, prompt_id);
  if (!result) throw HttpError(504, "timeout", "The pictures are not ready yet", prompt_id);
  if (result->state != jobs::JobState::succeeded) fail(*result);
  const Json outputs = graph::parse_json(result->outputs);
  std::vector<MadePicture> pictures;
  for (size_t i = 0; i < request.seeds.size(); ++i) {
    pictures.push_back(picture_of(services, outputs, request.seeds[i], "save" + std::to_string(i)));
  }
  return pictures;
}

StoredPicture store_input_picture(const Services& services, std::string_view bytes) {
  const std::string png = [&] {
    const PictureGate::Pass pass(services.pictures, {}, bytes);
    try {
      return engine::convert_picture(std::as_bytes(std::span(bytes)), {});
    } catch (const Error& error) {
      throw HttpError(400, "invalid_request", "The picture cannot be read", error.what());
    }
  }();
  const auto folder = contained(services.core.folders().input, "api");
  if (!folder) throw HttpError(403, "forbidden", "The input folder's api leads elsewhere");
  std::filesystem::create_directories(*folder);
  const std::string name = engine::content_name(png) + ".png";
  if (!engine::has_bytes(*folder / name, png)) engine::write_whole(*folder / name, png);
  // The header of a PNG: sides, depth, and the kind of its pixels, of which some have an alpha; those of a palette may have one in a part of its own.
  constexpr size_t kHeader = 26;
  if (png.size() < kHeader) throw HttpError(400, "invalid_request", "The picture cannot be read");
  const auto byte = [&](size_t at) { return static_cast<int>(static_cast<unsigned char>(png[at])); };
  const auto side = [&](size_t at) { return byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3); };
  // That part comes before the pixels, whose bytes may look like its name.
  const bool has_alpha = (byte(25) & 4) != 0 || png.find("tRNS") < png.find("IDAT");
  return {"api/" + name, side(16), side(20), has_alpha};
}

std::string checkpoint_name(const Services& services, const std::string& asked) {
  const std::vector<std::string> names = services.models.list("checkpoints");
  if (asked.empty() && !names.empty()) return names.front();
  for (const std::string& name : names) {
    const std::filesystem::path path = name;
    if (name == asked || (path.parent_path() / path.stem()).string() == asked) return name;
  }
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  throw HttpError(404, "model_not_found", "There is no such model: " + asked, known);
}

std::string lora_file_name(const Services& services, const std::string& asked) {
  for (const std::string& name : services.models.list("loras")) {
    const std::filesystem::path path = name;
    if (name == asked || (path.parent_path() / path.stem()).string() == asked || path.stem().string() == asked) return name;
  }
  throw HttpError(404, "lora_not_found", "There is no such LoRA: " + asked);
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  if (!in) throw HttpError(404, "not_found", "The picture is not there any more");
  return bytes.str();
}

std::string encode_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

std::string decode_base64(std::string_view given) {
  if (given.starts_with("data:")) given.remove_prefix(std::min(given.size(), given.find(',') + 1));
  // Encoders for mail put it in lines.
  std::string text(given);
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0 || text.size() % 4 != 0) throw HttpError(400, "invalid_request", "A picture is not in base64");
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

// Seeds that a client's numbers can hold.
uint64_t random_seed() { return std::random_device{}(); }

}  // namespace veneer::server
