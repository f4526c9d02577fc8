#include "server/openapi_texts.h"

#include <array>

namespace veneer::server {
namespace {

using graph::Json;

struct Summary {
  std::string_view method, pattern, text;
};

constexpr std::array kSummaries = {
    Summary{"GET", "/prompt", "How many jobs wait or run."},
    Summary{"POST", "/prompt", "Queues a workflow, in API form or as the editor saves it."},
    Summary{"POST", "/prompt/queue", "The same, and says which versions of which models it is bound to."},
    Summary{"POST", "/prompt/validate", "What would become of a workflow. Changes nothing."},
    Summary{"POST", "/model/load", "Loads a model beside what serves, checks it, makes it ready, and lets its name stand for it."},
    Summary{"POST", "/model/unload", "The name stands for its file again; memory is given back."},
    Summary{"GET", "/model/loaded", "What /model/load holds."},
    Summary{"POST", "/workflow/reload", "What a changed workflow, or changed models, mean: which node became which, and what runs again."},
    Summary{"GET", "/queue", "Jobs that run and wait."},
    Summary{"POST", "/queue", "Withdraws waiting jobs: all (clear) or some (delete)."},
    Summary{"POST", "/interrupt", "Stops what runs, or the job of prompt_id."},
    Summary{"POST", "/free", "Gives memory back: weights (unload_models) and cached results (free_memory)."},
    Summary{"GET", "/history", "Jobs that have ended, oldest first."},
    Summary{"POST", "/history", "Forgets jobs: all (clear) or some (delete)."},
    Summary{"GET", "/history/{id}", "One of them."},
    Summary{"GET", "/jobs", "Jobs in any state."},
    Summary{"GET", "/jobs/{id}", "One of them, whole."},
    Summary{"POST", "/jobs/{id}/cancel", "Stops or withdraws one job and no other."},
    Summary{"POST", "/jobs/cancel", "The same for several."},
    Summary{"GET", "/object_info", "All nodes: inputs, outputs, choices."},
    Summary{"GET", "/object_info/{class}", "One of them."},
    Summary{"GET", "/view", "A picture, or a preview of it (preview=webp;80, channel=rgb or a)."},
    Summary{"POST", "/upload/image", "Stores a picture in the input folder."},
    Summary{"POST", "/upload/mask", "Stores a picture with the alpha of another."},
    Summary{"GET", "/models", "Kinds of models."},
    Summary{"GET", "/models/{folder}", "Names of a kind."},
    Summary{"GET", "/embeddings", "Names of embeddings, without extension."},
    Summary{"GET", "/view_metadata/{folder}", "What a model's file says of itself."},
    Summary{"GET", "/system_stats", "Versions, memory, devices."},
    Summary{"GET", "/ws", "Messages and previews over WebSocket (clientId)."},
    Summary{"GET", "/health", "The process is alive."},
    Summary{"GET", "/ready", "It takes jobs; else 503 with the reason."},
    Summary{"GET", "/metrics", "Counters in Prometheus' text format."},
    Summary{"GET", "/memory", "Where the weights are."},
    Summary{"GET", "/v1/models", "Base models and named variants."},
    Summary{"POST", "/v1/load_lora_adapter", "Names a variant of a base model."},
    Summary{"POST", "/v1/unload_lora_adapter", "Forgets it."},
    Summary{"POST", "/v1/images/generations", "OpenAI's images API."},
    Summary{"POST", "/v1/images/edits", "The same, from a picture."},
    Summary{"POST", "/sdapi/v1/txt2img", "A1111's API."},
    Summary{"POST", "/sdapi/v1/img2img", "The same, from a picture."},
};

Json text() { return {{"type", "string"}}; }
Json flag() { return {{"type", "boolean"}}; }

Json object(Json properties, Json required = Json::array()) {
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

// Of requests whose misspelt members are refused.
Json closed(Json schema) {
  schema["additionalProperties"] = false;
  return schema;
}

Json prompt_properties() {
  return {{"prompt", {{"type", "object"}}},
          {"client_id", text()},
          {"prompt_id", text()},
          {"number", {{"type", "number"}}},
          {"front", flag()},
          {"extra_data", {{"type", "object"}}},
          {"idempotency_key", text()},
          {"partial_execution_targets", {{"type", "array"}, {"items", text()}}}};
}

}  // namespace

std::string_view summary_of(std::string_view method, std::string_view pattern) {
  for (const Summary& known : kSummaries) {
    if (known.method == method && known.pattern == pattern) return known.text;
  }
  return "";
}

Json body_schema_of(std::string_view pattern) {
  if (pattern == "/prompt" || pattern == "/prompt/validate" || pattern == "/prompt/queue") return object(prompt_properties(), {"prompt"});
  if (pattern == "/workflow/reload") {
    Json properties = prompt_properties();
    properties["previous"] = {{"oneOf", {{{"type", "object"}}, {{"type", "string"}}}}};
    return closed(object(std::move(properties)));
  }
  if (pattern == "/model/load") {
    return closed(object({{"model_name", text()}, {"type", text()}, {"force_reload", flag()}, {"sha256", text()}}, {"model_name", "type"}));
  }
  if (pattern == "/model/unload") return closed(object({{"model_name", text()}, {"type", text()}}, {"model_name", "type"}));
  if (pattern == "/interrupt") return object({{"prompt_id", text()}});
  if (pattern == "/free") return object({{"unload_models", flag()}, {"free_memory", flag()}});
  if (pattern == "/queue" || pattern == "/history") return object({{"clear", flag()}, {"delete", {{"type", "array"}, {"items", text()}}}});
  if (pattern == "/jobs/cancel") return object({{"job_ids", {{"type", "array"}, {"items", text()}}}}, {"job_ids"});
  return {{"type", "object"}};
}

}  // namespace veneer::server
