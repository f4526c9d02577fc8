// in_call: the frame around each function of the host table.
#pragma once

#include <initializer_list>
#include <new>
#include <utility>

#include "plugins/plugin_text.h"
#include "plugins/session.h"
#include "veneer/error.h"

namespace veneer::plugins {

inline int32_t status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return VENEER_NOT_FOUND;
    case ErrorCode::invalid: return VENEER_INVALID;
    case ErrorCode::corrupt: return VENEER_CORRUPT;
    case ErrorCode::unsupported: return VENEER_UNSUPPORTED;
    case ErrorCode::no_memory: return VENEER_NO_MEMORY;
    case ErrorCode::cancelled: return VENEER_CANCELLED;
    case ErrorCode::internal: break;
  }
  return VENEER_INTERNAL;
}

// Runs `work(CallState&)` while nothing else works on the call. What it throws becomes the status, with the reason kept for last_error.
template <typename Work>
int32_t in_call(void* self, VeneerCall id, Work work) noexcept {
  try {
    if (self == nullptr) return VENEER_ENDED;
    const std::shared_ptr<CallState> call = static_cast<Session*>(self)->find(id);
    if (call == nullptr) return VENEER_ENDED;
    const std::lock_guard lock(call->mutex);
    if (call->closed) return VENEER_ENDED;
    try {
      return work(*call);
    } catch (const EndedHandle&) {
      call->error = "the value belongs to no call under way";
      return VENEER_ENDED;
    } catch (const Error& error) {
      call->error = error.what();
      return status_of(error.code());
    } catch (const std::bad_alloc&) {
      return VENEER_NO_MEMORY;
    } catch (const std::exception& error) {
      call->error = error.what();
      return VENEER_INTERNAL;
    }
  } catch (...) {
    return VENEER_INTERNAL;
  }
}

// The same for one kind of function only.
template <typename Work>
int32_t in_phase(void* self, VeneerCall id, Phase phase, Work work) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    if (call.phase == phase) return work(call);
    call.error = "not in this function of a node";
    return VENEER_WRONG_PLACE;
  });
}

// For functions that write to `out`.
template <typename T>
void require(T* out) {
  if (out == nullptr) throw Error(ErrorCode::invalid, "plug-in: a null pointer for the result");
}

}  // namespace veneer::plugins
