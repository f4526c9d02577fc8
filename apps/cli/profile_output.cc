#include "profile_output.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "terminal_text.h"
#include "text_table.h"
#include "veneer/error.h"

namespace veneer::cli {
namespace {

// Below this part of the time rows are told together.
constexpr double kSmallShare = 0.005;

std::string number(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string percent(double share) { return number("%.1f %%", 100 * share); }

// Arithmetic where there is any, else the memory traffic.
std::string rate_of(const ProfileRow& row) {
  if (row.seconds <= 0) return "";
  if (row.flops > 0) return number("%.1f GFLOP/s", 1e-9 * row.flops / row.seconds);
  if (row.bytes > 0) return number("%.1f GB/s", 1e-9 * row.bytes / row.seconds);
  return "";
}

// What is around ops has their time left out.
std::string name_of(const ProfileRow& row) {
  if (row.kind == "op") return row.name;
  if (row.kind == "prepare") return "pack weights";
  return row.name + ", the rest";
}

std::string totals(const ProfileReport& report) {
  std::string out;
  if (report.unet_calls > 0) {
    out += std::to_string(report.unet_calls) + " evaluations of the diffusion network in " + number("%.2f s", report.unet_seconds) + ", " +
           number("%.1f GFLOP/s", 1e-9 * report.unet_flops / report.unet_seconds) + ": convolution, matmul and attention " +
           percent(report.unet_matrix_share) + ", other ops " + percent(report.unet_other_share) + ", between ops and packing weights " +
           percent(report.unet_rest_share) + "\n";
  }
  if (report.steps > 0) {
    out += std::to_string(report.steps) + (report.steps == 1 ? " step" : " steps") + " after the first, " +
           number("%.1f ms each", 1e3 * report.step_seconds / static_cast<double>(report.steps)) + ", " +
           number("%.2f %%", 100 * report.step_outside_share) + " of them outside of the diffusion network\n";
  }
  double packing = 0;
  for (const ProfileRow& row : report.rows) packing += row.kind == "prepare" ? row.seconds : 0;
  if (packing > 0) out += "weights packed in " + number("%.2f s", packing) + "\n";
  if (report.dropped > 0) out += std::to_string(report.dropped) + " spans were too many to keep\n";
  return out;
}

}  // namespace

void check_profile_file(const std::string& path) {
  namespace fs = std::filesystem;
  if (path == "-") throw Error(ErrorCode::invalid, "--profile writes to a file, since pictures are listed on standard output", {{"value", path}});
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) throw Error(ErrorCode::invalid, "--profile writes to a file, and this is a folder", {{"file", path}});
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (::access(folder.c_str(), W_OK) != 0) {
    throw Error(ErrorCode::invalid, "the folder of the profile does not exist or cannot be written to",
                {{"file", path}, {"folder", folder.string()}});
  }
}

std::string profile_table(const ProfileReport& report) {
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::left, Align::left, Align::right, Align::right, Align::right, Align::right});
  table.add({"op", "shape", "dtype", "calls", "time", "rate", "share"});
  size_t small = 0;
  double small_seconds = 0;
  for (const ProfileRow& row : report.rows) {
    if (row.seconds < kSmallShare * report.wall_seconds) {
      ++small;
      small_seconds += row.seconds;
      continue;
    }
    table.add({printable(name_of(row)), printable(row.shape), row.dtype, std::to_string(row.calls), number("%.1f ms", 1e3 * row.seconds),
               rate_of(row), percent(row.seconds / report.wall_seconds)});
  }
  if (small > 0) {
    table.add({std::to_string(small) + " smaller rows", "", "", "", number("%.1f ms", 1e3 * small_seconds), "",
               percent(small_seconds / report.wall_seconds)});
  }
  return table.text() + totals(report);
}

nlohmann::ordered_json profile_json(const ProfileReport& report, const std::string& path) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ProfileRow& row : report.rows) {
    rows.push_back({{"kind", row.kind},
                    {"name", row.name},
                    {"shape", row.shape},
                    {"dtype", row.dtype},
                    {"calls", row.calls},
                    {"seconds", row.seconds},
                    {"total_seconds", row.total_seconds},
                    {"flops", row.flops},
                    {"bytes", row.bytes}});
  }
  return {{"file", path},
          {"wall_seconds", report.wall_seconds},
          {"unet",
           {{"calls", report.unet_calls},
            {"seconds", report.unet_seconds},
            {"flops", report.unet_flops},
            {"matrix_share", report.unet_matrix_share},
            {"other_share", report.unet_other_share},
            {"rest_share", report.unet_rest_share}}},
          {"steps", {{"count", report.steps}, {"seconds", report.step_seconds}, {"outside_share", report.step_outside_share}}},
          {"dropped", report.dropped},
          {"rows", std::move(rows)}};
}

}  // namespace veneer::cli
