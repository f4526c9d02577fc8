#include "plugins/library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <unordered_set>

#include "plugins/node_functions.h"
#include "plugins/plugin_text.h"
#include "veneer/error.h"

namespace veneer::plugins {
namespace {

constexpr int kOtherVersions = 9;  // that are looked for to say more than "no function"

std::string loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown reason" : printable_text(as_abi(text));
}

// The loader would wait for the other end of a pipe.
void require_regular(const std::filesystem::path& file) {
  struct stat facts = {};
  if (::stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) throw Error(ErrorCode::invalid, "it is no regular file");
}

void* open_library(const std::filesystem::path& file) {
  require_regular(file);
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw Error(ErrorCode::invalid, "it cannot be loaded", {{"reason", loader_error()}});
  return library;
}

VeneerPluginFunction entry_of(void* library) {
  const std::string want = "veneer_plugin_v" + std::to_string(VENEER_PLUGIN_VERSION);
  if (void* symbol = ::dlsym(library, want.c_str())) return reinterpret_cast<VeneerPluginFunction>(symbol);
  for (int version = 0; version <= kOtherVersions; ++version) {
    if (::dlsym(library, ("veneer_plugin_v" + std::to_string(version)).c_str()) == nullptr) continue;
    throw Error(ErrorCode::invalid, "it was made for another version of the plug-in interface",
                {{"want", std::to_string(VENEER_PLUGIN_VERSION)}, {"got", std::to_string(version)}});
  }
  throw Error(ErrorCode::invalid, "it exports no plug-in function", {{"want", want}});
}

int32_t call_entry(VeneerPluginFunction entry, const VeneerHost* host) {
  try {
    return entry(host);
  } catch (const std::exception& error) {
    throw Error(ErrorCode::invalid, "its plug-in function threw an exception", {{"reason", printable_text(as_abi(error.what()))}});
  } catch (...) {
    throw Error(ErrorCode::invalid, "its plug-in function threw something that is no exception");
  }
}

}  // namespace

std::vector<graph::NodeDef> load_library(const std::filesystem::path& file, const std::string& name) {
  const auto session = std::make_shared<Session>();
  const VeneerPluginFunction entry = entry_of(open_library(file));
  int32_t status = VENEER_INTERNAL;
  try {
    status = call_entry(entry, session->host());
  } catch (const Error&) {
    static_cast<void>(session->take_described());  // its own reason, if it gave one, says more
    throw;
  }
  std::vector<DescribedNode> described = session->take_described();
  if (status != VENEER_OK) throw Error(ErrorCode::invalid, "its plug-in function failed", {{"status", std::to_string(status)}});
  if (described.empty()) throw Error(ErrorCode::invalid, "it registers no node class");
  std::unordered_set<std::string> classes;
  std::vector<graph::NodeDef> nodes;
  for (DescribedNode& node : described) {
    if (!classes.insert(node.def.class_type).second) throw Error(ErrorCode::invalid, "it registers a class twice", {{"class", node.def.class_type}});
    nodes.push_back(make_node(session, std::move(node), name));
  }
  return nodes;
}

}  // namespace veneer::plugins
