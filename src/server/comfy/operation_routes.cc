// /health, /ready, /metrics, /memory: for those who run the server.
#include "engine/machine.h"
#include "server/comfy/routes.h"

namespace veneer::server {
namespace {

Response ready(const Services& services) {
  const std::string fault = services.queue.fault();
  if (services.draining) throw HttpError(503, "shutting_down", "The server is shutting down");
  if (!fault.empty()) throw HttpError(503, "storage", "The job database cannot be written", fault);
  return json_response(Json{{"status", "ready"}});
}

void number(std::string& out, const std::string& name, const char* type, const char* help, uint64_t value) {
  out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + " " + std::to_string(value) + "\n";
}
void gauge(std::string& out, const std::string& name, const char* help, uint64_t value) { number(out, name, "gauge", help, value); }
void counter(std::string& out, const std::string& name, const char* help, uint64_t value) { number(out, name, "counter", help, value); }

// Where weights are: ready to run, locked in memory as they lie in files, mapped.
void tiers(std::string& out, const MemoryAccount& account, uint64_t mapped_bytes) {
  const std::string name = "veneer_weight_bytes";
  out += "# HELP " + name + " Weights by where they are; those that are ready are in their files too.\n# TYPE " + name + " gauge\n";
  const auto tier = [&](const char* which, uint64_t bytes) { out += name + "{tier=\"" + which + "\"} " + std::to_string(bytes) + "\n"; };
  tier("resident", account.resident_bytes);
  tier("pinned", account.pinned_bytes);
  tier("mapped", mapped_bytes);
}

Response metrics(const Services& services) {
  std::string out = services.metrics.text();
  const MemoryAccount account = services.core.memory();
  const engine::Core::Activity activity = services.core.activity();
  gauge(out, "veneer_queue_waiting", "Jobs that wait.", services.queue.waiting());
  gauge(out, "veneer_queue_running", "Jobs that run.", services.queue.running_jobs().size());
  gauge(out, "veneer_websockets", "Connected web sockets.", services.hub.size());
  counter(out, "veneer_variant_switches_total", "Jobs that ran a model as another variant than the job before.", activity.variant_switches);
  counter(out, "veneer_weights_built_total", "Weights made ready to run.", activity.weights_built);
  counter(out, "veneer_weights_built_bytes_total", "Their bytes: what switches cost.", activity.built_bytes);
  counter(out, "veneer_evictions_total", "Ready weights that were dropped for others, or to give memory back.", activity.weights_evicted);
  counter(out, "veneer_evicted_bytes_total", "Their bytes.", activity.evicted_bytes);
  tiers(out, account, activity.mapped_bytes);
  gauge(out, "veneer_resident_weight_bytes", "Ready-to-run weights in memory.", account.resident_bytes);
  gauge(out, "veneer_resident_weight_peak_bytes", "The most there ever were.", account.peak_resident_bytes);
  gauge(out, "veneer_memory_budget_bytes", "What they may take.", account.budget_bytes);
  gauge(out, "veneer_pinned_bytes", "Parts of model files locked in memory.", account.pinned_bytes);
  gauge(out, "veneer_models_loaded", "Models that /model/load holds.", services.swap.loaded().size());
  gauge(out, "process_resident_memory_bytes", "Memory of the process.", engine::machine_memory().resident_bytes);
  return text_response(std::move(out), "text/plain; version=0.0.4; charset=utf-8");
}

Response memory(const Services& services) {
  const MemoryAccount account = services.core.memory();
  Json entries = Json::array();
  for (const MemoryEntry& entry : account.entries) {
    entries.push_back({{"owner", services.public_text(entry.owner)},
                       {"name", entry.name},
                       {"tier", entry.tier},
                       {"bytes", entry.bytes},
                       {"in_use", entry.in_use},
                       {"last_use", entry.last_use}});
  }
  const engine::MachineMemory machine = engine::machine_memory();
  return json_response(Json{{"resident_bytes", account.resident_bytes},
                            {"peak_resident_bytes", account.peak_resident_bytes},
                            {"budget_bytes", account.budget_bytes},
                            {"pinned_bytes", account.pinned_bytes},
                            {"pinned_budget_bytes", account.pinned_budget_bytes},
                            {"notice", account.notice},
                            {"process_bytes", machine.resident_bytes},
                            {"machine_total_bytes", machine.total_bytes},
                            {"machine_free_bytes", machine.free_bytes},
                            {"entries", entries}});
}

}  // namespace

void add_operation_routes(Router& router, Services& services) {
  router.get("/health", [](const Request&) { return json_response(Json{{"status", "ok"}}); });
  router.get("/ready", [&](const Request&) { return ready(services); });
  router.get("/metrics", [&](const Request&) { return metrics(services); });
  router.get("/memory", [&](const Request&) { return memory(services); });
}

}  // namespace veneer::server
