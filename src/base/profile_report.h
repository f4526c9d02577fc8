// What a profile's events add up to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/profile.h"
#include "veneer/profile.h"

namespace veneer {

// Everything but `trace` and `dropped`. Events may come in any order.
ProfileReport profile_report(std::span<const ProfileEvent> events);

// The Trace Event Format of Chrome and Perfetto ("Trace Event Format", Google, 2016): one complete event for each span, times in microseconds.
std::string chrome_trace(std::span<const ProfileEvent> events);

}  // namespace veneer
