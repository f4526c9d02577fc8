// VariantBook: variants of models that have a name: a base and adapters with strengths.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/http/message.h"

namespace veneer::server {

struct NamedVariant {
  std::string name;
  std::string parent;                                    // a name in checkpoints/
  std::vector<std::pair<std::string, double>> adapters;  // names in loras/, strengths
  std::string fingerprint;                               // of its UNet
  int64_t created_s = 0;
};

// Kept in a file. All members may be called from any thread.
class VariantBook {
 public:
  explicit VariantBook(std::filesystem::path file);
  // Throws HttpError(409) for a name that is taken by another variant.
  void add(const NamedVariant& variant);
  // Throws HttpError(404).
  void remove(const std::string& name);
  std::optional<NamedVariant> find(const std::string& name) const;
  std::vector<NamedVariant> all() const;

 private:
  void replace(std::vector<NamedVariant> variants);
  const std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::vector<NamedVariant> variants_;
};

}  // namespace veneer::server
