// One faulty plug-in for each definition: what the loader has to refuse by name. Written against the bare interface.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "veneer/plugin_abi.h"

namespace {

int32_t nothing(void*, VeneerCall) { return VENEER_OK; }

VeneerText text(const char* from) { return {from, std::strlen(from)}; }

[[maybe_unused]] int32_t add(const VeneerHost* host, const char* description) {
  VeneerNode node{};
  node.size = sizeof node;
  node.run = nothing;
  return host->add_node(host->self, text(description), &node);
}

#if defined(VENEER_FAULT_constructor_crashes) || defined(VENEER_FAULT_ends_process)
__attribute__((constructor)) void at_load() {
#ifdef VENEER_FAULT_constructor_crashes
  std::abort();
#else
  _exit(0);
#endif
}
#endif

}  // namespace

#ifdef VENEER_FAULT_missing_symbol
extern "C" int32_t veneer_there_is_no_such_function();
#endif

#ifdef VENEER_FAULT_other_version
#define VENEER_ENTRY veneer_plugin_v7
#elif defined(VENEER_FAULT_no_function)
#define VENEER_ENTRY some_other_function
#else
#define VENEER_ENTRY veneer_plugin_v1
#endif

extern "C" __attribute__((visibility("default"))) int32_t VENEER_ENTRY([[maybe_unused]] const VeneerHost* host) {
#if defined(VENEER_FAULT_function_crashes)
  std::abort();
#elif defined(VENEER_FAULT_function_throws)
  throw std::runtime_error("not today");
#elif defined(VENEER_FAULT_function_throws_int)
  throw 42;
#elif defined(VENEER_FAULT_function_fails)
  add(host, R"({"class": "FaultyGood"})");
  host->refuse_plugin(host->self, text("the licence is missing"));
  return VENEER_INTERNAL;
#elif defined(VENEER_FAULT_half_registered)
  // The second is faulty, and the plug-in does not look at the answer.
  add(host, R"({"class": "FaultyFirst"})");
  add(host, R"({"class": "FaultySecond", "inputs": [{"name": "a"}]})");
  return VENEER_OK;
#elif defined(VENEER_FAULT_built_in_class)
  add(host, R"({"class": "FaultyBesideBuiltIn"})");
  return add(host, R"({"class": "KSampler"})");
#elif defined(VENEER_FAULT_bad_description)
  return add(host, R"({"class": "FaultyDescription", "colour": "red"})");
#elif defined(VENEER_FAULT_missing_symbol)
  return veneer_there_is_no_such_function();
#elif defined(VENEER_FAULT_same_class)
  add(host, R"({"class": "FaultyBesideSame"})");
  return add(host, R"({"class": "StubImage"})");
#else
  return VENEER_OK;
#endif
}
