// What a function answers: outputs, records, blockers, lazy inputs, fingerprints, refusals; and what it tells on the way.
#include <cmath>

#include "graph/json_text.h"
#include "plugins/host_table.h"
#include "plugins/in_call.h"
#include "plugins/tensor_types.h"

namespace veneer::plugins {
namespace {

using graph::Json;
using graph::Value;

constexpr size_t kMaxTextBytes = 64 * 1024;  // of a line on a node
constexpr int kMaxPreviewPixels = 4096;      // of the longer side

int32_t add_output(void* self, VeneerCall id, VeneerValue value) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    call.result.outputs.emplace_back(call.value_of(value));
    return VENEER_OK;
  });
}

int32_t add_output_link(void* self, VeneerCall id, VeneerText node, int32_t slot) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    call.result.outputs.emplace_back(graph::Link{checked_text(node, "a node's id"), slot});
    return VENEER_OK;
  });
}

int32_t block_all(void* self, VeneerCall id, VeneerText message) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    Value blocker = message.data == nullptr ? Value::blocker() : Value::blocker(checked_text(message, "a blocker's message"));
    call.result.outputs.assign(1, std::move(blocker));
    call.result.blocks_all = true;
    return VENEER_OK;
  });
}

int32_t set_ui(void* self, VeneerCall id, VeneerText text) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    Json ui = graph::parse_json(view_of(text));
    const bool fits = ui.is_object() && std::all_of(ui.begin(), ui.end(), [](const Json& member) { return member.is_array(); });
    if (!fits) throw Error(ErrorCode::invalid, "plug-in: a record for the editor is a JSON object of arrays");
    call.result.ui = std::move(ui);
    return VENEER_OK;
  });
}

graph::Progress progress_of(double value, double max, int32_t whole) {
  if (!std::isfinite(value) || !std::isfinite(max)) throw Error(ErrorCode::invalid, "plug-in: progress is not finite");
  graph::Progress progress;
  progress.value = value;
  progress.max = max;
  progress.integral = whole != 0 && std::trunc(value) == value && std::trunc(max) == max && std::abs(value) < 1e15 && std::abs(max) < 1e15;
  return progress;
}

int32_t progress(void* self, VeneerCall id, double value, double max, int32_t whole) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    call.context->progress(progress_of(value, max, whole));
    return VENEER_OK;
  });
}

int32_t preview(void* self, VeneerCall id, double value, double max, int32_t whole, VeneerValue image, VeneerText format, int32_t max_size) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    const std::optional<Tensor> picture = tensor_in(call.value_of(image));
    if (!picture || picture->dtype() != DType::f32 || picture->rank() != 4 || picture->dim(3) != 3 || picture->dim(0) == 0) {
      throw Error(ErrorCode::invalid, "plug-in: a preview is an IMAGE");
    }
    const std::string_view name = view_of(format);
    if (name != "JPEG" && name != "PNG") throw Error(ErrorCode::invalid, "plug-in: a preview is JPEG or PNG", {{"format", printable_text(format)}});
    if (max_size < 0 || max_size > kMaxPreviewPixels) throw Error(ErrorCode::invalid, "plug-in: a preview has at most 4096 pixels a side");
    graph::Progress step = progress_of(value, max, whole);
    graph::Preview& shown = step.preview.emplace();
    // A copy: the plug-in may go on writing to its own.
    shown.rgb = picture->slice(0, 1).reshape({picture->dim(1), picture->dim(2), 3}).clone();
    shown.format = name;
    shown.max_size = max_size;
    call.context->progress(step);
    return VENEER_OK;
  });
}

int32_t progress_text(void* self, VeneerCall id, VeneerText text) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    const std::string line = checked_text(text, "a line of progress");
    if (line.size() > kMaxTextBytes) throw Error(ErrorCode::invalid, "plug-in: a line of progress is at most 64 KiB");
    call.context->progress_text(line);
    call.context->cancel().check();
    return VENEER_OK;
  });
}

int32_t need(void* self, VeneerCall id, VeneerText input) noexcept {
  return in_phase(self, id, Phase::check_lazy, [&](CallState& call) -> int32_t {
    call.needed.push_back(checked_text(input, "an input's name"));
    return VENEER_OK;
  });
}

int32_t set_fingerprint(void* self, VeneerCall id, VeneerText json) noexcept {
  return in_phase(self, id, Phase::change_fingerprint, [&](CallState& call) -> int32_t {
    call.fingerprint = graph::parse_json(view_of(json));
    return VENEER_OK;
  });
}

int32_t refuse(void* self, VeneerCall id, VeneerText reason) noexcept {
  return in_phase(self, id, Phase::validate, [&](CallState& call) -> int32_t {
    if (!call.refusal) call.refusal = printable_text(reason);
    return VENEER_OK;
  });
}

}  // namespace

void fill_results(VeneerHost& host) {
  host.add_output = add_output;
  host.add_output_link = add_output_link;
  host.block_all = block_all;
  host.set_ui = set_ui;
  host.progress = progress;
  host.preview = preview;
  host.progress_text = progress_text;
  host.need = need;
  host.set_fingerprint = set_fingerprint;
  host.refuse = refuse;
}

}  // namespace veneer::plugins
