#include "server/server.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/machine.h"
#include "engine/model_listing.h"
#include "jobs/worker.h"
#include "server/access.h"
#include "server/comfy/routes.h"
#include "server/compat/routes.h"
#include "server/compression.h"
#include "server/data_lock.h"
#include "server/events/messages.h"
#include "server/features.h"
#include "server/http/listener.h"
#include "server/loaded_models_log.h"
#include "server/model_watch.h"
#include "server/openapi.h"
#include "server/public_text.h"
#include "server/run_watch.h"
#include "server/services.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

// Handlers may wait for the disk, and some for a job.
constexpr size_t kHandlerThreads = 16;

jobs::QueueOptions queue_options(const ServerOptions& options) {
  jobs::QueueOptions queue = options.queue;
  if (queue.database.empty()) queue.database = options.data_folder / "jobs.db";
  fs::create_directories(queue.database.parent_path());
  return queue;
}

std::unique_ptr<asio::ssl::context> make_tls(const ServerOptions& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    throw Error(ErrorCode::invalid, "TLS needs a certificate and a key", {{"given", options.tls_key.empty() ? "certificate" : "key"}});
  }
  if (options.tls_certificate.empty()) return nullptr;
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  boost::system::error_code error;
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, error);
  context->use_certificate_chain_file(options.tls_certificate.string(), error);
  if (error)
    throw Error(ErrorCode::invalid, "the TLS certificate cannot be read", {{"file", options.tls_certificate.string()}, {"reason", error.message()}});
  context->use_private_key_file(options.tls_key.string(), asio::ssl::context::pem, error);
  if (error) throw Error(ErrorCode::invalid, "the TLS key cannot be read", {{"file", options.tls_key.string()}, {"reason", error.message()}});
  return context;
}

std::vector<std::pair<std::string, fs::path>> public_folders(const ServerOptions& options, const engine::Core& core,
                                                             const engine::ModelListing& models) {
  std::vector<std::pair<std::string, fs::path>> folders = {
      {"input", core.folders().input}, {"output", core.folders().output}, {"temp", core.folders().temp}, {"data", options.data_folder}};
  for (const auto& [kind, folder] : {std::pair("front-end", options.frontend_folder), {"templates", options.templates_folder}}) {
    if (!folder.empty()) folders.emplace_back(kind, folder);
  }
  for (const std::string& kind : models.kinds()) {
    for (const fs::path& folder : models.folders_as_given(kind)) folders.emplace_back("models/" + kind, folder);
  }
  return folders;
}

void add_all_routes(Router& router, Services& services) {
  add_prompt_routes(router, services);
  add_queue_routes(router, services);
  add_history_routes(router, services);
  add_job_routes(router, services);
  add_object_info_routes(router, services);
  add_view_routes(router, services);
  add_upload_routes(router, services);
  add_model_routes(router, services);
  add_system_routes(router, services);
  add_settings_routes(router, services);
  add_userdata_routes(router, services);
  add_internal_routes(router, services);
  add_hot_swap_routes(router, services);
  add_operation_routes(router, services);
  add_static_routes(router, services);
}

}  // namespace

struct Server::Impl {
  Impl(const ServerOptions& given, const engine::Core& used, LogBook::Sink sink)
      : options(given),
        data_lock(options.data_folder, options.listen + " port " + std::to_string(options.port)),
        core(used),
        swap(core),
        log(std::move(sink)),
        models(core),
        public_text(public_folders(options, core, models)),
        queue(queue_options(options)),
        users(options.data_folder / "user", options.multi_user),
        access(options),
        tls(make_tls(options)),
        book(options.data_folder / "variants.json"),
        watch({hub, metrics, log, waiters, web_ui, options.preview_side, options.plain_previews}),
        services{options,
                 core,
                 models,
                 queue,
                 hub,
                 metrics,
                 log,
                 users,
                 waiters,
                 pictures,
                 swap,
                 loads,
                 draining,
                 [this](bool clear) { release(clear); },
                 [this] { let_go(); },
                 [this](const std::string& text) { return public_text(text); }},
        shared{.admit = [this](Request& request) { return access.check(request); },
               .handle = [this](Request& request) { return router.handle(request); },
               .finish = [this](const Request& request, Response& response) { finish(request, response); },
               .greeting = [this](const std::string& id, bool reconnect) { return greeting(id, reconnect); },
               .features = [this] { return std::optional<Outgoing>(message("feature_flags", features(options))); },
               .hub = hub,
               .handlers = handlers,
               .tls = tls.get(),
               .max_body_bytes = max_upload_bytes(options),
               .max_body_bytes_together = std::max<uint64_t>(4 * max_upload_bytes(options), uint64_t{64} << 20),
               .send_limits = {.max_bytes = options.client_buffer_bytes, .max_droppable = options.client_buffer_bytes / 16},
               .body_bytes = 0,
               .connections = 0} {
    add_all_routes(router, services);
    add_variant_routes(router, services, book);
    add_openai_routes(router, services, book);
    add_a1111_routes(router, services, web_ui);
    router.get("/openapi.json", [this](const Request&) { return json_response(openapi(router)); });
    queue.on_change([this](size_t remaining) {
      if (hub.size() > 0) hub.broadcast(status_message(remaining));
    });
    log.on_entry([this](const LogBook::Entry& entry) { tell_log(entry); });
    listener = std::make_shared<Listener>(io, options.listen, options.port, options.max_connections, shared);
    listener->start();
    start_workers();
    model_watch = std::make_unique<ModelWatch>([this] {
      let_go();
      loaded_log.look(swap.loaded());
      swap.complete([this] { return draining.load(); });
    });
    io_thread = std::thread([this] { io.run(); });
    if (!data_lock.held()) {
      log.write(LogLevel::warning, "the data folder's file system has no locks: make sure that no other server uses it",
                Json{{"folder", options.data_folder.string()}});
    }
    log.info("listening",
             Json{{"address", options.listen}, {"port", listener->port()}, {"tls", tls != nullptr}, {"jobs_restored", queue.remaining()}});
  }

  ~Impl() {
    draining = true;
    waiters.stop();
    model_watch.reset();
    queue.stop(true);
    std::vector<std::unique_ptr<jobs::Worker>> ended;
    {
      // Handlers that still run may ask for them.
      const std::lock_guard lock(workers_mutex);
      ended.swap(workers);
    }
    ended.clear();
    io.stop();
    io_thread.join();
    // Handlers that still run post their answers to a context that nobody runs; they go with it.
    handlers.join();
  }

  void start_workers() {
    for (int i = 0; i < std::max(1, options.workers); ++i) {
      graph::ExecutorOptions executor;
      executor.cache = options.cache;
      workers.push_back(
          std::make_unique<jobs::Worker>(jobs::Worker::Parts{.queue = queue,
                                                             .listener = watch,
                                                             .executor = core.make_executor(executor),
                                                             .after_job = [this] { core.trim(); },
                                                             .on_release = [this] { release_memory(); },
                                                             .on_forget = [this] { return_memory(); },
                                                             .public_text = [this](const std::string& text) { return public_text(text); }}));
    }
  }

  void release(bool clear_results) {
    const std::lock_guard lock(workers_mutex);
    for (const auto& worker : workers) worker->release(clear_results);
  }

  // Models whose file came to be another: cached results keep them in memory.
  void let_go() {
    const auto stale = swap.stale_values();
    if (!stale) return;
    const std::lock_guard lock(workers_mutex);
    for (const auto& worker : workers) worker->forget(stale);
  }

  void return_memory() const {
    core.trim();
    engine::return_freed_memory();
  }

  void release_memory() const {
    core.release();
    engine::return_freed_memory();
  }

  std::vector<Outgoing> greeting(const std::string& id, bool reconnect) const {
    std::vector<Outgoing> messages = {status_message(queue.remaining(), id)};
    const std::string node = reconnect ? hub.running(id) : "";
    if (!node.empty()) messages.push_back(message("executing", Json{{"node", node}}));
    return messages;
  }

  void finish(const Request& request, Response& response) {
    metrics.request(response.status);
    if (response.status >= 400) response.body = public_text(response.body);
    response.set("Server", "Veneer");
    response.set("X-Content-Type-Options", "nosniff");
    if (options.cors_origin) {
      response.set("Access-Control-Allow-Origin", *options.cors_origin);
      response.set("Access-Control-Allow-Methods", "POST, GET, DELETE, PUT, OPTIONS, PATCH");
      response.set("Access-Control-Allow-Headers", "Content-Type, Authorization");
      response.set("Access-Control-Allow-Credentials", "true");
    }
    if (options.compress) compress(request, response);
  }

  void tell_log(const LogBook::Entry& entry) const {
    const std::vector<std::string> subscribers = hub.log_subscribers();
    if (subscribers.empty()) return;
    const Outgoing told = message("logs", Json{{"entries", Json::array({{{"t", entry.time}, {"m", public_text(entry.text)}}})}, {"size", nullptr}});
    for (const std::string& id : subscribers) hub.send(id, told);
  }

  const ServerOptions options;
  const DataLock data_lock;  // before anything that reads or writes the folder
  const engine::Core& core;
  std::atomic<bool> draining = false;
  Metrics metrics;
  Waiters waiters;
  PictureGate pictures;
  engine::HotSwap swap;
  LoadGate loads;
  LogBook log;
  LoadedModelsLog loaded_log{log};
  engine::ModelListing models;
  PublicText public_text;
  jobs::JobQueue queue;
  UserStore users;
  Access access;
  Router router;
  std::unique_ptr<asio::ssl::context> tls;
  VariantBook book;
  WebUiState web_ui;
  RunWatch watch;
  Services services;
  asio::thread_pool handlers{kHandlerThreads};
  SessionShared shared;
  std::mutex workers_mutex;
  std::vector<std::unique_ptr<jobs::Worker>> workers;
  std::unique_ptr<ModelWatch> model_watch;
  // The last to come and the first to go: connections use everything above.
  asio::io_context io{1};
  Hub hub;  // sockets that are still open go before what they run on
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::shared_ptr<Listener> listener;
  std::thread io_thread;
};

Server::Server(const ServerOptions& options, const engine::Core& core, LogBook::Sink log)
    : impl_(std::make_unique<Impl>(options, core, std::move(log))) {}

Server::~Server() = default;

uint16_t Server::port() const { return impl_->listener->port(); }

void Server::drain(std::chrono::milliseconds limit) {
  impl_->log.info("draining", Json{{"jobs_running", impl_->queue.running_jobs().size()}, {"jobs_waiting", impl_->queue.waiting()}});
  impl_->draining = true;
  impl_->queue.stop();
  impl_->queue.wait_idle(limit);
}

}  // namespace veneer::server
