#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "engine/frontend_package.h"
#include "serve_options.h"
#include "veneer/error.h"

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

struct FrontendOptions {
  std::string wheel;
  std::string download;  // a version, or "latest"
  std::string data_folder = default_data_folder();
};

// Runs a program found on the path and waits for it. Returns its exit code.
int run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 127;
  return WEXITSTATUS(status);
}

// A folder that goes with its owner.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "veneer-frontend-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(ErrorCode::invalid, "no temporary folder can be made", {{"folder", name}});
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

fs::path download(const std::string& version, const fs::path& folder) {
  const std::string package = "comfyui-frontend-package" + (version == "latest" ? std::string() : "==" + version);
  const int code =
      run_program({"python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder.string(), package});
  if (code != 0) throw Error(ErrorCode::not_found, "pip cannot download the editor", {{"package", package}, {"exit_code", std::to_string(code)}});
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".whl") return entry.path();
  }
  throw Error(ErrorCode::not_found, "pip downloaded no wheel", {{"package", package}});
}

int install(const FrontendOptions& options) {
  if (options.wheel.empty() == options.download.empty()) {
    throw Error(ErrorCode::invalid, "give the wheel's file, or --download to have pip fetch it",
                {{"example", "veneer frontend install comfyui_frontend_package-1.27.10-py3-none-any.whl"}});
  }
  const ScratchFolder scratch;
  const fs::path wheel = options.wheel.empty() ? download(options.download, scratch.path()) : fs::path(options.wheel);
  const fs::path folder = fs::path(options.data_folder) / "frontend";
  const engine::FrontendInstall done = engine::install_frontend(wheel, folder);
  std::printf("installed comfyui-frontend-package %s: %zu files in %s\n", done.version.c_str(), done.files, folder.string().c_str());
  return 0;
}

}  // namespace

Command add_frontend_command(CLI::App& app) {
  auto options = std::make_shared<FrontendOptions>();
  CLI::App* sub = app.add_subcommand("frontend", "install ComfyUI's editor, which `veneer serve` then shows at /");
  CLI::App* put = sub->add_subcommand("install", "unpack the package comfyui-frontend-package into the data folder");
  sub->require_subcommand(1);
  put->add_option("wheel", options->wheel, "the package's wheel (.whl)");
  put->add_option("--download", options->download, "have pip download this version, or the newest")
      ->type_name("VERSION")
      ->expected(0, 1)
      ->default_str("latest");
  put->add_option("--data", options->data_folder, "the server's data folder")->type_name("DIR")->capture_default_str();
  put->footer("example: veneer frontend install --download 1.27.10");
  return {sub, [options] { return install(*options); }};
}

}  // namespace veneer::cli
