// The goldens' tiny UNet as the function that sampling calls.
#pragma once

#include "golden_set.h"
#include "sampling/network.h"

namespace veneer::goldens {

// models/unet.safetensors of the group's folder in f32. The network keeps everything alive that it needs.
sampling::Network make_tiny_unet(const Group& group);

}  // namespace veneer::goldens
