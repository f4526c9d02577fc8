// The engine inside a program of your own: two variants of one base model, one call each.
#include <cstdio>

#include "veneer/engine.h"

int main(int argc, char** argv) {
  try {
    veneer::Engine engine({.model_folders = {argc > 1 ? argv[1] : "models/demo"}, .output_folder = "output"});

    veneer::TextToImage request;
    request.model = "shapes-sd-tiny.safetensors";
    request.prompt = "a red circle on a blue background";
    request.cfg = 5.0;
    request.width = request.height = 128;
    request.seed = 1;

    for (const double strength : {0.0, 1.0}) {
      request.loras = {{"style-outline", strength}};  // the base is loaded once; the variant costs the adapter
      for (const veneer::SavedImage& image : engine.text_to_image(request).images) std::printf("strength %.1f: %s\n", strength, image.path.c_str());
    }
  } catch (const veneer::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
