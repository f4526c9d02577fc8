// Which weights of a diffusion model and of a text encoder the layers of an adapter file mean.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "formats/model_file.h"
#include "models/unet/unet.h"
#include "patch/adapter_file.h"
#include "patch/key_map.h"
#include "variant/base_model.h"

namespace veneer::nodes {

// The structure of a UNet as key maps want it.
patch::UnetLayout unet_layout(const models::UnetConfig& config);

// What a file is matched against; null: not at all.
struct AdapterTargets {
  const variant::BaseModel* unet = nullptr;
  patch::UnetLayout layout = {};  // of the UNet
  const variant::BaseModel* clip = nullptr;
  patch::PatchCompat compat = patch::PatchCompat::standard;
};

// Throws what patch::load_adapter does.
patch::AdapterReport match_adapter(const formats::ModelFile& file, const AdapterTargets& targets);

// Whether a layer, as the file names it, belongs to a text encoder.
bool is_text_layer(std::string_view layer);

// What a user should weigh: layers that fit nothing, as far as `counts` takes them, and those that the reference's way leaves out; "" when there are
// none.
std::string adapter_remark(const patch::AdapterReport& report, const std::string& file, const std::function<bool(std::string_view layer)>& counts);

}  // namespace veneer::nodes
