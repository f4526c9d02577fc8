#include "base/profile_report.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace veneer {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr double kNanosecond = 1e-9;

// An event among the others of its thread.
struct Place {
  size_t parent = kNone;
  int64_t own_ns = 0;      // without what lies within
  size_t unet = kNone;     // the evaluation of the diffusion network around it, or itself
  size_t step = kNone;     // the sampler's step around it, or itself
  bool within_op = false;  // a part of another op
};

int64_t length(const ProfileEvent& event) { return event.end_ns - event.begin_ns; }
bool is_unet(const ProfileEvent& event) { return event.kind == ProfileKind::network && event.name == "unet"; }
bool is_matrix(const ProfileEvent& event) { return event.work.flops > 0; }

std::vector<Place> places_of(std::span<const ProfileEvent> events) {
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // What begins first and ends last is around the rest. Of two of the same extent the one that was added later is around: it ended later.
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::tuple(events[a].thread, events[a].begin_ns, -events[a].end_ns, b) <
           std::tuple(events[b].thread, events[b].begin_ns, -events[b].end_ns, a);
  });
  std::vector<Place> places(events.size());
  std::vector<size_t> open;
  for (const size_t i : order) {
    const ProfileEvent& event = events[i];
    while (!open.empty() && (events[open.back()].thread != event.thread || events[open.back()].end_ns < event.end_ns)) open.pop_back();
    Place& place = places[i];
    place.own_ns += length(event);
    if (!open.empty()) {
      place.parent = open.back();
      Place& around = places[open.back()];
      around.own_ns -= length(event);
      place.unet = around.unet;
      place.step = around.step;
      place.within_op = around.within_op || events[open.back()].kind == ProfileKind::op;
    }
    if (is_unet(event)) place.unet = i;
    if (event.kind == ProfileKind::step) place.step = i;
    open.push_back(i);
  }
  return places;
}

std::vector<ProfileRow> rows_of(std::span<const ProfileEvent> events, std::span<const Place> places) {
  std::map<std::tuple<ProfileKind, std::string, std::string, std::string_view>, ProfileRow> rows;
  for (size_t i = 0; i < events.size(); ++i) {
    const ProfileEvent& event = events[i];
    // Steps are told apart by their number, and belong together.
    const std::string& shape = event.kind == ProfileKind::step ? std::string() : event.work.shape;
    ProfileRow& row = rows[{event.kind, event.name, shape, event.work.dtype}];
    row.kind = to_string(event.kind);
    row.name = event.name;
    row.shape = shape;
    row.dtype = event.work.dtype;
    ++row.calls;
    row.seconds += kNanosecond * static_cast<double>(places[i].own_ns);
    row.total_seconds += kNanosecond * static_cast<double>(length(event));
    row.flops += event.work.flops;
    row.bytes += event.work.bytes;
  }
  std::vector<ProfileRow> out;
  out.reserve(rows.size());
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  std::ranges::stable_sort(out, [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return out;
}

void add_unet(std::span<const ProfileEvent> events, std::span<const Place> places, ProfileReport& report) {
  int64_t all = 0, matrix = 0, other = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (places[i].unet == kNone) continue;
    if (is_unet(events[i])) {
      ++report.unet_calls;
      all += length(events[i]);
    } else if (events[i].kind == ProfileKind::op) {
      (is_matrix(events[i]) ? matrix : other) += places[i].own_ns;
      report.unet_flops += events[i].work.flops;
    }
  }
  if (all == 0) return;
  report.unet_seconds = kNanosecond * static_cast<double>(all);
  report.unet_matrix_share = static_cast<double>(matrix) / static_cast<double>(all);
  report.unet_other_share = static_cast<double>(other) / static_cast<double>(all);
  report.unet_rest_share = 1 - report.unet_matrix_share - report.unet_other_share;
}

void add_steps(std::span<const ProfileEvent> events, std::span<const Place> places, ProfileReport& report) {
  const auto counts = [&](size_t i) { return i != kNone && events[i].work.shape != "1"; };
  int64_t all = 0, unet = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind == ProfileKind::step && counts(i)) {
      ++report.steps;
      all += length(events[i]);
    } else if (is_unet(events[i]) && counts(places[i].step)) {
      unet += length(events[i]);
    }
  }
  if (all == 0) return;
  report.step_seconds = kNanosecond * static_cast<double>(all);
  report.step_outside_share = 1 - static_cast<double>(unet) / static_cast<double>(all);
}

}  // namespace

ProfileReport profile_report(std::span<const ProfileEvent> events) {
  ProfileReport report;
  if (events.empty()) return report;
  int64_t first = events.front().begin_ns, last = events.front().end_ns;
  for (const ProfileEvent& event : events) {
    first = std::min(first, event.begin_ns);
    last = std::max(last, event.end_ns);
  }
  report.wall_seconds = kNanosecond * static_cast<double>(last - first);
  const std::vector<Place> places = places_of(events);
  report.rows = rows_of(events, places);
  add_unet(events, places, report);
  add_steps(events, places, report);
  return report;
}

}  // namespace veneer
