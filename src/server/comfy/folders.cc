#include "server/comfy/folders.h"

#include <array>

namespace veneer::server {

std::optional<std::filesystem::path> folder_of(const engine::Core& core, std::string_view type) {
  const engine::Core::Folders& folders = core.folders();
  if (type == "input") return folders.input;
  if (type == "output") return folders.output;
  if (type == "temp") return folders.temp;
  return std::nullopt;
}

std::string take_folder_note(std::string& name) {
  for (const std::string_view type : std::array<std::string_view, 3>{"input", "output", "temp"}) {
    const std::string note = "[" + std::string(type) + "]";
    if (!name.ends_with(note)) continue;
    // The character before it goes as well: a space, as clients write it.
    name.resize(name.size() - std::min(name.size(), note.size() + 1));
    return std::string(type);
  }
  return {};
}

}  // namespace veneer::server
