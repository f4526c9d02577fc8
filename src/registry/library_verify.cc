// Verification of models, and what it leaves in the cache folder.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "formats/model_file.h"
#include "formats/shard_index.h"
#include "formats/write_model.h"
#include "registry/library.h"
#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

// The whole model's, and that of the file which is read.
HashIndex::Progress shifted(const HashIndex::Progress& progress, uint64_t done, uint64_t all) {
  if (!progress) return {};
  return [&progress, done, all](uint64_t count, uint64_t) { progress(std::min(done + count, all), all); };
}

}  // namespace

// What a new hash and the header say of one file, and nothing for a file that is as it should be.
std::string Library::check_part(const fs::path& file, const HashIndex::Progress& progress, bool anew, bool& is_other_than_told) {
  const std::optional<std::string> known = index_.known(file);
  const std::string now = index_.hash(file, progress, anew);
  if (known && *known != now) {
    return Error(ErrorCode::corrupt, "model: the content is another than before, though size and times tell of no change",
                 {{"file", file.string()}, {"sha256 was", *known}})
        .what();
  }
  std::optional<formats::ToldChecksum> told;
  try {
    told = formats::told_checksum(formats::ModelFile::open(file));
  } catch (const Error&) {
    return {};  // said where the header of the model is read; not all files are models
  }
  if (!told) return {};
  const std::string tensors = index_.hash_behind(file, told->begin, progress, anew);
  if (tensors == told->sha256) return {};
  is_other_than_told = true;
  return Error(ErrorCode::corrupt, "model: its tensors are not those that its header tells",
               {{"file", file.string()}, {"want", told->sha256}, {"got", tensors}})
      .what();
}

Library::Verified Library::verify(const fs::path& file, const HashIndex::Progress& progress, bool anew) {
  Verified out;
  out.was_known = known_hash(file).has_value();
  const std::vector<fs::path> files = folders_->files(file);
  const uint64_t all = size_of_all(files);
  uint64_t done = 0;
  for (const fs::path& part : files) {
    std::string problem = check_part(part, shifted(progress, done, all), anew, out.is_other_than_told);
    if (out.problem.empty()) out.problem = std::move(problem);
    done += identify(part).size_bytes;
  }
  out.sha256 = hash(file);
  const std::vector<fs::path> stray = files.size() > 1 ? formats::stray_shards(file) : std::vector<fs::path>();
  if (out.problem.empty() && !stray.empty()) {
    out.problem =
        Error(ErrorCode::corrupt, "model: a shard of another version lies beside those of the model", {{"file", stray.front().string()}}).what();
  }
  out.cache_key = registry::cache_key(file.filename().string(), out.sha256);
  if (!cache_.empty() && out.problem.empty()) out.link = link_to(file, out.cache_key);
  return out;
}

// Made beside and renamed, so that two processes may do the same at once.
fs::path Library::link_to(const fs::path& file, const std::string& key) const {
  std::error_code error;
  // A link stays one: the shards of a linked index lie beside it, and what it leads to may have another name.
  const fs::path target = fs::canonical(fs::absolute(file, error).parent_path(), error) / file.filename();
  fs::path link = cache_ / "models" / key;
  if (error) return {};
  if (fs::read_symlink(link, error) == target) return link;
  fs::create_directories(link.parent_path(), error);
  std::random_device random;
  const fs::path temporary = link.parent_path() / (key + "." + std::to_string(random()) + ".tmp");
  fs::create_symlink(target, temporary, error);
  if (error) return {};
  fs::rename(temporary, link, error);
  if (!error) return link;
  fs::remove(temporary, error);
  return {};
}

// Without the index every link looks like one to a file that is not known.
void Library::require_index() const {
  const std::string notice = index_.notice();
  if (!notice.empty()) throw Error(ErrorCode::invalid, "index: it cannot be read, so nothing is removed", {{"reason", notice}});
}

Library::Collected Library::collect() {
  Collected out;
  out.hashes = index_.collect();
  require_index();
  if (cache_.empty()) return out;
  std::error_code error;
  std::vector<fs::path> dead;
  for (const auto& entry : fs::directory_iterator(cache_ / "models", error)) {
    if (!entry.is_symlink(error)) continue;
    const fs::path target = fs::read_symlink(entry.path(), error);
    std::optional<std::string> hash;
    if (fs::is_regular_file(target, error)) hash = known_or_empty(target);
    if (!hash || hash->empty() || registry::cache_key(target.filename().string(), *hash) != entry.path().filename().string())
      dead.push_back(entry.path());
  }
  require_index();
  for (const fs::path& link : dead) out.links += fs::remove(link, error) ? 1 : 0;
  return out;
}

}  // namespace veneer::registry
