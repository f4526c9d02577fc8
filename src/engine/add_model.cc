#include "engine/add_model.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/atomic_file.h"
#include "formats/sha256.h"
#include "formats/shard_index.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = size_t{4} << 20U;

struct Folder {
  std::string_view type, kind;
};
constexpr std::array kFolders = {Folder{"checkpoint", "checkpoints"},
                                 Folder{"lora", "loras"},
                                 Folder{"vae", "vae"},
                                 Folder{"vae_approx", "vae_approx"},
                                 Folder{"text_encoder", "text_encoders"},
                                 Folder{"diffusion_model", "diffusion_models"},
                                 Folder{"controlnet", "controlnet"},
                                 Folder{"t2i_adapter", "controlnet"},
                                 Folder{"embedding", "embeddings"},
                                 Folder{"upscaler", "upscale_models"},
                                 Folder{"clip_vision", "clip_vision"}};

std::string kind_of(registry::Library& library, const AddModelRequest& request) {
  if (!request.kind.empty()) return library.folders().kind(request.kind).name;
  const std::string type = library.facts(request.file)->type;
  for (const Folder& folder : kFolders) {
    if (folder.type == type) return std::string(folder.kind);
  }
  throw Error(ErrorCode::invalid, "add: the kind of the model cannot be told", {{"file", request.file}, {"help", "--kind"}});
}

std::string name_of(const AddModelRequest& request) {
  std::string name = request.name.empty() ? fs::path(request.file).filename().string() : request.name;
  if (request.id.empty()) return name;
  if (registry::parse_reference(request.id).kind != registry::ModelReference::Kind::version) {
    throw Error(ErrorCode::invalid, "add: an id is MODEL@VERSION", {{"id", request.id}, {"example", "stabilityai/sdxl-turbo@v2.1"}});
  }
  return request.id + "/" + name;
}

// What could not be opened, or not be named, once it is there.
void check(registry::Library& library, const AddModelRequest& request, const AddedModel& model) {
  if (model.name.find('\\') != std::string::npos) {
    throw Error(ErrorCode::invalid, "add: a name has no '\\', which workflows read as '/'", {{"name", model.name}, {"help", "--name"}});
  }
  const std::vector<std::string>& extensions = library.folders().kind(model.kind).extensions;
  const bool weights = std::ranges::find(extensions, ".safetensors") != extensions.end();
  const bool sharded = weights && library.facts(request.file)->format == "sharded safetensors";
  if (sharded != formats::is_index_name(model.name)) {
    throw Error(ErrorCode::invalid,
                sharded ? "add: the index of a model in shards needs a name of its own" : "add: only the index of a model has such a name",
                {{"name", model.name}, {"ending", std::string(formats::kIndexEnding)}, {"help", "--name"}});
  }
  if (request.id.empty()) return;
  for (const std::string& other : library.folders().list(model.kind)) {
    if (!other.starts_with(request.id + "/") || other == model.name) continue;
    throw Error(ErrorCode::invalid, "add: the id has another file, and names one model only", {{"id", request.id}, {"file", other}});
  }
}

void link_file(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::create_symlink(fs::canonical(from), to);
}

// Reads and writes in pieces; the copy's hash is that of what was read, and of what is read back.
void copy(const fs::path& from, const fs::path& to, const ModelLibrary::Progress& progress) {
  std::ifstream in(from, std::ios::binary);
  if (!in) throw Error(ErrorCode::not_found, "add: cannot open the file", {{"file", from.string()}});
  const uint64_t all = registry::identify(from).size_bytes;
  fs::create_directories(to.parent_path());
  formats::AtomicFile out = formats::AtomicFile::create(to);
  formats::Sha256 hash;
  std::vector<char> piece(kPiece);
  uint64_t done = 0;
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto bytes = std::as_bytes(std::span(piece.data(), static_cast<size_t>(in.gcount())));
    hash.add(bytes);
    out.write(bytes);
    done += bytes.size();
    if (progress) progress(from.string(), done, all);
  }
  if (in.bad() || done != all) throw Error(ErrorCode::corrupt, "add: the file changed or could not be read", {{"file", from.string()}});
  if (!out.commit_new(to)) throw Error(ErrorCode::invalid, "add: another file has taken the name meanwhile", {{"file", to.string()}});
  if (formats::sha256_hex_of_file(to) == hash.finish_hex()) return;
  fs::remove(to);
  throw Error(ErrorCode::corrupt, "add: the copy does not read back as it was written", {{"file", to.string()}});
}

// Where each file of the model goes: the first, which is the model or its index, to `model`, and shards beside it under their own names.
std::vector<std::pair<fs::path, fs::path>> journeys(const std::vector<fs::path>& files, const fs::path& model) {
  std::vector<std::pair<fs::path, fs::path>> out;
  for (size_t i = 1; i < files.size(); ++i) out.emplace_back(files[i], model.parent_path() / files[i].filename());
  out.emplace_back(files.front(), model);  // last: it makes the others a model
  return out;
}

// Whether the file is there already. Throws where another has the name.
bool is_there(registry::Library& library, const fs::path& from, const fs::path& to) {
  std::error_code unknown;
  if (!fs::exists(fs::symlink_status(to, unknown))) return false;
  if (fs::is_regular_file(to, unknown) && (fs::equivalent(from, to, unknown) || library.hash_of_file(from) == library.hash_of_file(to))) return true;
  throw Error(ErrorCode::invalid, "add: another file has this name", {{"file", to.string()}, {"help", "--name or --id"}});
}

// All files or none: what was put down is removed when a later one fails.
class Placed {
 public:
  Placed() = default;
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  ~Placed() {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
  }
  void add(const fs::path& file) { files_.push_back(file); }
  void keep() { files_.clear(); }

 private:
  std::vector<fs::path> files_;
};

}  // namespace

AddedModel add_model(registry::Library& library, const AddModelRequest& request, const ModelLibrary::Progress& progress) {
  AddedModel out;
  out.kind = kind_of(library, request);
  out.name = name_of(request);
  const std::vector<fs::path>& folders = library.folders().folders(out.kind);
  if (folders.empty()) throw Error(ErrorCode::invalid, "add: the kind has no folder", {{"kind", out.kind}});
  check(library, request, out);
  try {
    out.file = library.folders().resolve(out.kind, out.name);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;  // a name with a broken part, or another extension
  }
  if (out.file.empty()) out.file = folders.front() / out.name;
  std::vector<std::pair<fs::path, fs::path>> wanted;
  for (auto& [from, to] : journeys(library.folders().files(request.file), out.file)) {
    if (!is_there(library, from, to)) wanted.emplace_back(std::move(from), std::move(to));
  }
  Placed placed;
  for (const auto& [from, to] : wanted) {
    if (request.link) {
      link_file(from, to);
    } else {
      copy(from, to, progress);
    }
    placed.add(to);
  }
  placed.keep();
  return out;
}

}  // namespace veneer::engine
