#include "engine/precision.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "compute/cpu.h"
#include "formats/atomic_file.h"
#include "formats/read_file.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using nlohmann::json;

constexpr uint64_t kMostBytes = 4096;

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

std::string machine_name() {
  return cpu_model() + ", " + std::string(compute::kernel_isa()) + (compute::amx_native() ? ", AMX" : "") + ", " + compute::library_version();
}

bool is_rate(const json& value) { return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0; }

std::optional<compute::ProductRates> read(const std::filesystem::path& file, const std::string& machine) {
  try {
    const auto bytes = formats::read_file(file, kMostBytes);
    const json found = json::parse(reinterpret_cast<const char*>(bytes.data()), reinterpret_cast<const char*>(bytes.data()) + bytes.size());
    const json& rates = found.at("gflops_of_one_thread");
    if (found.at("machine") != machine || !is_rate(rates.at("f32")) || !is_rate(rates.at("bf16"))) return std::nullopt;
    return compute::ProductRates{rates.at("f32"), rates.at("bf16")};
  } catch (const Error&) {
    return std::nullopt;  // not there
  } catch (const json::exception&) {
    return std::nullopt;  // damaged
  }
}

void write(const std::filesystem::path& folder, const std::string& machine, const compute::ProductRates& rates) {
  try {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    auto file = formats::AtomicFile::create(folder / "machine.json");
    const json content = {{"machine", machine}, {"gflops_of_one_thread", {{"f32", rates.f32}, {"bf16", rates.bf16}}}};
    file.write(content.dump(2) + "\n");
    file.commit();
  } catch (const Error&) {
    // Measured again next time.
  } catch (const json::exception&) {
    // A CPU's name that is no UTF-8: the same.
  }
}

// How much faster bf16's products have to be. Half of a UNet's work is in convolutions that f32 does in 0.55 of the time that its products would
// take, so that f32 as a whole is 1.3 times as fast as they are; the rest is for f32's exactness.
constexpr double kWorthIt = 1.5;

}  // namespace

Precision choose_precision(const std::string& name, const RatesOfMachine& rates) {
  const Precision compact{DType::f32, compute::WeightStorage::compact};
  if (name == "f32") return {};
  if (name == "bf16") {
    if (!compute::bf16_supported())
      throw Error(ErrorCode::unsupported, "this CPU cannot compute in bf16", {{"dtype", name}, {"allowed", "auto fastest f32"}});
    return {DType::bf16};
  }
  const bool fastest = name == "fastest";
  if (!fastest && name != "auto") throw Error(ErrorCode::invalid, "unknown dtype", {{"dtype", name}, {"allowed", "auto fastest f32 bf16"}});
  // Without instructions for it bf16 is f32 with conversions, and with tiles it is several times as fast.
  if (!compute::bf16_native()) return compact;
  if (!fastest || compute::amx_native()) return {DType::bf16};
  const compute::ProductRates measured = rates();
  return measured.bf16 > kWorthIt * measured.f32 ? Precision{DType::bf16} : compact;
}

compute::ProductRates rates_of_machine(const std::filesystem::path& folder) {
  if (folder.empty()) return compute::measure_product_rates();
  const std::string machine = machine_name();
  if (const auto known = read(folder / "machine.json", machine)) return *known;
  const compute::ProductRates rates = compute::measure_product_rates();
  write(folder, machine, rates);
  return rates;
}

}  // namespace veneer::engine
