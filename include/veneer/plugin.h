// Node plug-ins in C++. Read this header first, then plugin_node.h (how a class is described) and plugin_call.h (what its functions do).
//
//   #include "veneer/plugin.h"
//   namespace vp = veneer::plugin;
//
//   VENEER_PLUGIN(pack) {
//     pack.add(vp::Node("Twice").category("math").input(vp::integer("value", 0).range(-100, 100)).output("INT").run([](vp::Call& call) {
//       call.output(call.input("value").integer() * 2);
//     }));
//   }
//
// Built as a shared library, `NAME.so` in a folder that Veneer is told of by --custom-nodes. The header is all there is: nothing is linked, and any
// compiler and standard library will do, since only what plugin_abi.h says crosses the border. docs/plugins.md has the whole story.
#pragma once

#include <string>
#include <utility>

#include "veneer/plugin_abi.h"
#include "veneer/plugin_call.h"
#include "veneer/plugin_node.h"

namespace veneer::plugin {

// What the plug-in's function fills.
class Pack {
 public:
  explicit Pack(const VeneerHost* host) : host_(host) {}

  // Describes a class. Throws Error when the description breaks a rule; the plug-in is then refused.
  void add(Node node) {
    const std::string description = node.description();
    VeneerNode functions = node.release_functions(host_);
    const int32_t status = host_->add_node(host_->self, detail::abi(description), &functions);
    if (status != VENEER_OK) throw Error(status, "a node class was not accepted");
  }

 private:
  const VeneerHost* host_;
};

namespace detail {

template <typename Fill>
int32_t enter(const VeneerHost* host, Fill fill) noexcept {
  if (host == nullptr || host->size < offsetof(VeneerHost, add_node)) return VENEER_UNSUPPORTED;
  const auto refuse = [&](const char* reason) {
    if (host->size >= sizeof(VeneerHost)) host->refuse_plugin(host->self, {reason, std::char_traits<char>::length(reason)});
  };
  if (host->version != VENEER_PLUGIN_VERSION || host->revision < VENEER_PLUGIN_REVISION || host->size < sizeof(VeneerHost)) {
    refuse("it was made for a newer revision of the plug-in interface");
    return VENEER_UNSUPPORTED;
  }
  try {
    Pack pack(host);
    fill(pack);
    return VENEER_OK;
  } catch (const std::exception& error) {
    refuse(error.what());
  } catch (...) {
    refuse("its plug-in function threw something that is no exception");
  }
  return VENEER_INTERNAL;
}

}  // namespace detail
}  // namespace veneer::plugin

// The function that Veneer looks for. Followed by its body, in which NAME is a veneer::plugin::Pack&.
// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a name that is declared
#define VENEER_PLUGIN(NAME)                                                                                       \
  static void veneer_plugin_fill(::veneer::plugin::Pack& NAME);                                                   \
  extern "C" __attribute__((visibility("default"))) int32_t veneer_plugin_v1(const VeneerHost* host) {            \
    return ::veneer::plugin::detail::enter(host, [](::veneer::plugin::Pack& pack) { veneer_plugin_fill(pack); }); \
  }                                                                                                               \
  static void veneer_plugin_fill(::veneer::plugin::Pack& NAME)
// NOLINTEND(bugprone-macro-parentheses)
